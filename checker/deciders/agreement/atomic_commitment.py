"""Atomic commitment: all decisions agree, and commit requires a yes vote of all participants.

A participant votes yes or no, once; any client calls ``decide`` for the outcome. The field ``key``
names the transaction. **Decided**, for each transaction by itself:

- *agreement*: no two acknowledged decisions differ;
- *commit-validity*: commit only if all participants have voted yes. When a decision to commit is
  returned, as many must have called a yes vote, and so must each whose vote is acknowledged ever;
  and there is no acknowledged vote no;
- *abort-validity*: abort only if not all have voted yes by then, or if an operation failed. So it
  is wrong only if every participant's yes vote returned before the first call of ``decide``, and
  no operation of the transaction that was called before the abort returned failed or is of unknown
  outcome. (A participant that had not voted yet may have been suspected: a history does not
  distinguish slow processes from crashed ones.)

These are the properties of non-blocking atomic commitment (Guerraoui and Rodrigues, Introduction
to reliable distributed programming, 2006, section 7.3; Gray and Lamport, Consensus on transaction
commit, TODS 2006, there "stability", "consistency" and "non-triviality"), without termination,
which no finite history can violate. The object that has them is one whose first ``decide`` fixes
the outcome by the votes so far, and whose later ones return it.

The number of participants is the initial value. Without it the participants are the processes whose
votes are acknowledged; if no vote is, then whether a commit was right is unknown. A vote of unknown
outcome may count or not, whichever makes the history acceptable.

**Algorithm.** The first decision lies between the first call of ``decide`` and the first return
with that outcome. For a commit the last point is best, as most votes can be cast by then; for an
abort the first point. So minima and counts for each transaction are enough. **Cost**: O(n).
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from rumpus.checker.deciders.decide import Algorithm, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused, undecided
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.typed_values import Truth
from rumpus.checker.deciders.values import MISSING, WrongOperations
from rumpus.checker.deciders.wording import at, who

_ALGORITHM = Algorithm(
    name="votes before decisions",
    when="always",
    cost="O(n)",
    source="Gray and Lamport, Consensus on transaction commit, TODS 2006; "
    "Guerraoui and Rodrigues, Introduction to reliable distributed programming, 2006",
)
_MEANING = {
    **dict.fromkeys(("yes", "commit", "committed", "prepared", True), True),
    **dict.fromkeys(("no", "abort", "aborted", False), False),
}
_UNTOLD = 3


class _Row(NamedTuple):
    """A vote or a decision of one transaction; ``yes`` has no meaning if it is unknown."""

    row: int
    process: int
    vote: bool
    yes: bool
    call: int
    returned: int
    outcome: int

    @property
    def certain(self) -> bool:
        return self.outcome == OK


def decide_atomic_commitment(table: OperationTable, number: int | None = None) -> Decision:
    """Whether the decisions on all transactions have the three properties.

    Args:
        table: the operations.
        number: the number of participants; None if unknown.

    Raises:
        WrongOperations: the value of a vote or a decision is neither yes nor no; a participant
            voted both; or more than ``number`` voted.
    """
    transactions = _transactions(table)
    for rows in transactions:
        _check_votes(table, rows, number)
    unjudged: list[str] = []
    for rows in transactions:
        happened = [row for row in rows if row.outcome != FAIL]
        if _contradiction(table, happened, number) is not None and not _excused(rows):
            return _refuse(table, happened, number)
        votes = number or sum(row.vote and row.certain for row in rows)
        if not votes and any(not row.vote and row.certain and row.yes for row in rows):
            unjudged.append(
                f"the commit{_on(table, rows)}: no vote is acknowledged, and nobody says how many "
                "there should be"
            )
    if not unjudged:
        return accepted()
    rest = len(unjudged) - _UNTOLD
    return undecided(
        *unjudged[:_UNTOLD], *([f"{rest} more commits without votes"] if rest > 0 else [])
    )


def _transactions(table: OperationTable) -> list[list[_Row]]:
    """The operations of each transaction; the transactions in the order of their first rows."""
    found: dict[int, list[_Row]] = {}
    votes = table.is_f("vote").tolist()
    columns = zip(
        table.field("key").numbers.tolist(),
        votes,
        table.outcome.tolist(),
        table.process.tolist(),
        table.call.tolist(),
        table.returned.tolist(),
        table.argument.tolist(),
        table.result.tolist(),
        strict=True,
    )
    for at_, (key, vote, outcome, process, call, returned, asked, told) in enumerate(columns):
        said = outcome != FAIL if vote else outcome == OK
        # The outcome of a decision may also be in its call.
        meant = asked if vote or told is None else told
        yes = said and _meaning(table, at_, meant, vote=vote)
        row = _Row(at_, process, vote, yes, call, returned, outcome)
        found.setdefault(key, []).append(row)
    return list(found.values())


def _meaning(table: OperationTable, row: int, said: Any, *, vote: bool) -> bool:
    """Whether a row says yes, or commit."""
    if said is None:
        raise WrongOperations(
            f"{table.function(row)} of {who(table, row)} (operation {int(table.index[row])}) says "
            f"neither {'yes nor no' if vote else 'commit nor abort'}"
        )
    if type(said) not in (str, Truth) or said not in _MEANING:
        raise WrongOperations(
            f"a {'vote' if vote else 'decision'} must be yes or no (or commit or abort), and "
            f"{said!r} is neither"
        )
    return _MEANING[said]


def _check_votes(table: OperationTable, rows: Sequence[_Row], number: int | None) -> None:
    """Raises if somebody voted both ways, or too many voted."""
    votes = {(row.process, row.yes) for row in rows if row.vote and row.certain}
    voted = {process for process, _ in votes}
    for process in sorted(voted):
        if votes.issuperset({(process, True), (process, False)}):
            raise WrongOperations(f"process {process} voted both yes and no{_on(table, rows)}")
    if number is not None and len(voted) > number:
        raise WrongOperations(
            f"{len(voted)} voted{_on(table, rows)}, and there are {number} participants"
        )


def _on(table: OperationTable, rows: Sequence[_Row]) -> str:
    name = table.field("key")[rows[0].row]
    return "" if name is None else f" on {name!r}"


def _excused(rows: Sequence[_Row]) -> bool:
    """Whether an operation had failed, or may have, when an abort returned."""
    decisions = [row for row in rows if row.certain and not row.vote]
    if any(row.yes for row in decisions):
        return False
    abort = min(row.returned for row in decisions)
    return any(not row.certain and row.call <= abort for row in rows)


def _refuse(table: OperationTable, rows: Sequence[_Row], number: int | None) -> Decision:
    """The refusal of one transaction."""
    transaction = table.field("key")[rows[0].row]
    name = "" if transaction is None else f"transaction {transaction!r}: "
    if len(rows) > MOST:
        decides = [row.row for row in rows if row.certain and not row.vote]
        description = f"{name}{_contradiction(table, rows, number)}"
        return refused(decides, description, minimal=False)

    def wrong(kept: Sequence[int]) -> str | None:
        forgotten = set(range(len(rows))).difference(kept)
        vague = [
            row._replace(call=MISSING, returned=NEVER, outcome=INFO) if at_ in forgotten else row
            for at_, row in enumerate(rows)
        ]
        return _contradiction(table, vague, number)

    needed, _ = minimise(range(len(rows))[::-1], lambda kept: wrong(kept) is not None)
    return refused([rows[place].row for place in needed], f"{name}{wrong(needed)}")


def _contradiction(table: OperationTable, rows: Sequence[_Row], number: int | None) -> str | None:
    """The contradiction in one transaction without failures, in words; None if there is none."""
    votes = [row for row in rows if row.vote]
    decisions = [row for row in rows if not row.vote]
    commits = [row for row in decisions if row.certain and row.yes]
    aborts = [row for row in decisions if row.certain and not row.yes]
    if commits and aborts:
        one, other = commits[0], aborts[0]
        return f"{_decided(table, one, other)}, but {_decided(table, other, one)}"
    if commits:
        decision = min(commits, key=lambda row: row.returned)
        refusals = [row for row in votes if row.certain and not row.yes]
        if refusals:
            return f"{_decided(table, decision)}, and {who(table, refusals[0].row)} voted no"
        in_time = {row.process for row in votes if row.yes and row.call <= decision.returned}
        voted = {row.process for row in votes if row.certain}
        needed = len(voted) if number is None else number
        # Whose vote is known is a participant, for whom nobody else's stands.
        late = [row for row in votes if row.certain and row.process not in in_time]
        if late:
            soonest = min(late, key=lambda row: row.call)
            when = at(table, soonest.call, decision.returned)
            return (
                f"{_decided(table, decision, soonest)}, and {who(table, soonest.row)} called its "
                f"vote at {when} only"
            )
        if len(in_time) < needed:
            return (
                f"{_decided(table, decision)}, when at most {len(in_time)} of {needed} can have "
                "voted yes"
            )
        return None
    if not aborts or any(not row.yes for row in votes):
        return None
    first = min(row.call for row in decisions)
    cast = {row.process for row in votes if row.certain and row.returned < first}
    everybody = len({row.process for row in votes}) if number is None else number
    if len(cast) < max(everybody, 1):
        return None
    last = max(row.returned for row in votes if row.certain and row.returned < first)
    return (
        f"{_decided(table, aborts[0])}, though all {everybody} had voted yes by "
        f"{at(table, last, first)}, before anybody called decide at {at(table, first, last)}, and "
        "nothing had failed"
    )


def _decided(table: OperationTable, row: _Row, *others: _Row) -> str:
    """A decision in words, with as many decimals as tell its time from those of others."""
    times = [time for other in others for time in (other.call, other.returned)]
    what = "commit" if row.yes else "abort"
    return f"{who(table, row.row)} decided {what} by {at(table, row.returned, *times)}"


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:  # noqa: ARG001 - the front's signature
    if initial is not None and (type(initial) is not int or initial < 1):
        raise WrongOperations(
            "atomic-commitment takes the number of its participants as initial value, a positive "
            f"integer, and {initial!r} is none"
        )
    decision = decide_atomic_commitment(table, initial)
    decision.algorithm = _ALGORITHM.name
    return decision


ATOMIC_COMMITMENT = ModelEntry(
    name="atomic-commitment",
    summary="all decide a transaction alike, and commit only what everybody voted for",
    runs="`two-phase-commit`",
    functions={
        "vote": "yes or no (or commit, abort); key is the transaction",
        "decide": "() -> commit or abort; key is the transaction",
    },
    initial="how many participants vote on each; those whose votes are known if not given",
    algorithms=(_ALGORITHM,),
    decide=_decide,
)
