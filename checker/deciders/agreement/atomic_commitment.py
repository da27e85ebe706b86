"""Atomic commitment: all decide alike, and commit only what everybody voted for.

A participant votes yes or no, once; whoever wants to know calls ``decide``. The field ``key``
names the transaction. **Decided**, for each transaction by itself:

- *agreement*: no two acknowledged decisions differ, whoever made them and when: a decision is
  final;
- *commit-validity*: commit only if all participants have voted yes. When a decision to commit is
  returned, as many must have called a yes vote; and there is no acknowledged vote no;
- *abort-validity*: abort only if not all have voted yes by then, or if something failed. So it
  is wrong only if every participant's yes was returned before anybody called ``decide``, and no
  operation of the transaction that was called before the abort returned failed, or is of unknown
  outcome. A participant that had not voted yet may have been taken for dead: no history tells
  the slow from the crashed.

These are the properties of non-blocking atomic commitment (Guerraoui and Rodrigues, Introduction
to reliable distributed programming, 2006, section 7.3; Gray and Lamport, Consensus on transaction
commit, TODS 2006, there "stability", "consistency" and "non-triviality"), without termination,
which no finite history can violate. They are what an object allows whose first ``decide`` fixes
the outcome by the votes so far and whose later ones repeat it.

The number of participants is the initial value. Without it they are those whose votes are
acknowledged: what was never recorded cannot be missed, and if no vote is, then whether the commit
was right stays unknown. A vote of unknown outcome counts or does not, as is needed.

**Algorithm.** The first decision falls between the first call of ``decide`` and the first return
with that outcome. For a commit the last moment is best, when most votes can have been cast; for
an abort the first. So minima and counts for each transaction are enough. **Cost**: O(n log n)
for sorting by transaction and process.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decide import Algorithm, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused, undecided
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import (
    FAIL,
    MISSING,
    NEVER,
    OK,
    Ints,
    OperationTable,
    Values,
    WrongOperations,
)
from rumpus.checker.wording import at, who

YES, NO = 1, 0

_ALGORITHM = Algorithm(
    name="votes before decisions",
    when="always",
    cost="O(n log n)",
    source="Gray and Lamport, Consensus on transaction commit, TODS 2006; "
    "Guerraoui and Rodrigues, Introduction to reliable distributed programming, 2006",
)
_MEANING = {
    **dict.fromkeys(("yes", "commit", "committed", "prepared", True), YES),
    **dict.fromkeys(("no", "abort", "aborted", False), NO),
}
_UNTOLD = 3
_NOTHING = -1

Flags = NDArray[np.bool_]


class _Row(NamedTuple):
    """A vote or a decision of one transaction."""

    row: int
    process: int
    vote: bool
    yes: bool
    call: int
    returned: int
    certain: bool


@dataclass(frozen=True)
class _Columns:
    """Votes and decisions, by transaction; ``group`` numbers the transactions."""

    group: Ints
    vote: Flags
    meaning: Ints
    outcome: NDArray[np.int8]
    process: Ints
    call: Ints
    returned: Ints

    def earliest(self, of: Ints, where: Flags, groups: int) -> Ints:
        """The least of some rows' times, a transaction."""
        found = np.full(groups, NEVER)
        np.minimum.at(found, self.group[where], of[where])
        return found

    def count(self, where: Flags, groups: int) -> Ints:
        """How many processes have such rows, a transaction."""
        rows = np.flatnonzero(where)
        order = np.lexsort((self.process[rows], self.group[rows]))
        group, process = self.group[rows][order], self.process[rows][order]
        new = np.ones(len(rows), dtype=np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (process[1:] != process[:-1])
        return np.bincount(group[new], minlength=groups)


def decide_atomic_commitment(table: OperationTable, number: int | None = None) -> Decision:
    """Whether all transactions were decided alike, and rightly.

    Args:
        table: the operations.
        number: how many participants there are; None if that is not known.

    Raises:
        WrongOperations: a vote or a decision is none; a participant voted both ways; or more
            than ``number`` voted.
    """
    if not len(table):
        return accepted()
    groups, columns = _columns(table)
    certain = columns.outcome == OK
    votes, decisions = columns.vote, ~columns.vote & certain
    yes = votes & (columns.meaning == YES) & (columns.outcome != FAIL)
    no = votes & (columns.meaning == NO)
    _check_votes(table, columns, yes & certain, no & certain, number, groups)
    commits, aborts = decisions & (columns.meaning == YES), decisions & (columns.meaning == NO)
    commit = columns.earliest(columns.returned, commits, groups)
    abort = columns.earliest(columns.returned, aborts, groups)
    first = columns.earliest(columns.call, decisions, groups)
    voted = columns.count(votes & certain, groups)
    needed = voted if number is None else np.full(groups, number)
    in_time = columns.count(yes & (columns.call <= commit[columns.group]), groups)
    refusals = np.bincount(columns.group[no & certain], minlength=groups)
    wrong = (commit != NEVER) & ((abort != NEVER) | (refusals > 0) | (in_time < needed))
    trouble = ~certain & (columns.call <= abort[columns.group])
    trouble |= no & (columns.outcome != FAIL)
    excused = np.bincount(columns.group[trouble], minlength=groups) > 0
    before = columns.count(yes & certain & (columns.returned < first[columns.group]), groups)
    everybody = columns.count(yes, groups) if number is None else needed
    wrong |= (abort != NEVER) & ~excused & (before >= np.maximum(everybody, 1))
    if wrong.any():
        first_row = np.full(groups, len(table))
        np.minimum.at(first_row, columns.group, np.arange(len(table)))
        chosen = int(np.flatnonzero(wrong)[np.argmin(first_row[wrong])])
        return _refuse(table, columns, chosen, number)
    unjudged = np.flatnonzero((commit != NEVER) & (needed == 0))
    return undecided(*_unjudged(table, columns, unjudged)) if len(unjudged) else accepted()


def _columns(table: OperationTable) -> tuple[int, _Columns]:
    key = table.field("key").numbers
    groups, group = 1, np.zeros(len(table), dtype=np.int64)
    if (key != key[0]).any():
        names, group = np.unique(key, return_inverse=True)
        groups, group = len(names), group.reshape(-1)
    vote = table.is_f("vote")
    own = _meanings(table, table.argument, vote & (table.outcome != FAIL), "vote")
    told = _meanings(table, table.result, ~vote & (table.outcome == OK), "decision")
    # Who decides may also say in its call what it decides.
    silent = ~vote & (table.outcome == OK) & (told == _NOTHING)
    said = _meanings(table, table.argument, silent, "decision")
    meaning = np.where(vote, own, np.where(silent, said, told))
    missing = (meaning == _NOTHING) & (table.outcome != FAIL) & (vote | (table.outcome == OK))
    if missing.any():
        row = int(np.argmax(missing))
        raise WrongOperations(
            f"{table.function(row)} of {who(table, row)} (operation {int(table.index[row])}) says "
            f"neither {'yes nor no' if vote[row] else 'commit nor abort'}"
        )
    return groups, _Columns(
        group, vote, meaning, table.outcome, table.process, table.call, table.returned
    )


def _meanings(table: OperationTable, values: Values, where: Flags, what: str) -> Ints:
    """`YES`, `NO`, or `_NOTHING` where nothing is said."""
    found = np.full(len(table), _NOTHING)
    present = where & values.present
    if not present.any():
        return found
    meaning = np.full(len(values.objects or ()), _NOTHING)
    for number in np.unique(values.numbers[present]).tolist():
        value = number if values.objects is None else values.objects[number]
        if type(value) not in (str, bool) or value not in _MEANING:
            raise WrongOperations(
                f"a {what} must be yes or no (or commit or abort), and {value!r} is neither"
            )
        meaning[number] = _MEANING[value]
    found[present] = meaning[values.numbers[present]]
    return found


def _check_votes(
    table: OperationTable,
    columns: _Columns,
    yes: Flags,
    no: Flags,
    number: int | None,
    groups: int,
) -> None:
    """Raises if somebody voted both ways, or too many voted."""
    voted = columns.count(yes | no, groups)
    both = voted < columns.count(yes, groups) + columns.count(no, groups)
    if both.any():
        group = int(np.argmax(both))
        there = columns.group == group
        twice = np.intersect1d(columns.process[there & yes], columns.process[there & no])[0]
        raise WrongOperations(f"process {twice} voted both yes and no{_on(table, columns, group)}")
    if number is not None and (voted > number).any():
        group = int(np.argmax(voted > number))
        raise WrongOperations(
            f"{voted[group]} voted{_on(table, columns, group)}, and there are {number} participants"
        )


def _on(table: OperationTable, columns: _Columns, group: int) -> str:
    name = table.field("key")[int(np.argmax(columns.group == group))]
    return "" if name is None else f" on {name!r}"


def _unjudged(table: OperationTable, columns: _Columns, groups: Ints) -> list[str]:
    named = [
        f"the commit{_on(table, columns, group)}: no vote is acknowledged, and nobody says how "
        "many there should be"
        for group in groups[:_UNTOLD].tolist()
    ]
    rest = len(groups) - len(named)
    return [*named, f"{rest} more commits without votes"] if rest else named


def _refuse(table: OperationTable, columns: _Columns, group: int, number: int | None) -> Decision:
    """The refusal of one transaction."""
    places = np.flatnonzero((columns.group == group) & (columns.outcome != FAIL))
    rows = [
        _Row(
            row=int(place),
            process=int(table.process[place]),
            vote=bool(columns.vote[place]),
            yes=bool(columns.meaning[place] == YES),
            call=int(table.call[place]),
            returned=int(table.returned[place]),
            certain=bool(table.outcome[place] == OK),
        )
        for place in places
    ]
    transaction = table.field("key")[rows[0].row]
    name = "" if transaction is None else f"transaction {transaction!r}: "
    if len(rows) > MOST:
        decides = [row.row for row in rows if row.certain and not row.vote]
        description = f"{name}{_contradiction(table, rows, number)}"
        return refused(decides, description, minimal=False)

    def wrong(kept: Sequence[int]) -> str | None:
        forgotten = set(range(len(rows))).difference(kept)
        vague = [
            row._replace(call=MISSING, returned=NEVER, certain=False) if at_ in forgotten else row
            for at_, row in enumerate(rows)
        ]
        return _contradiction(table, vague, number)

    needed, _ = minimise(range(len(rows))[::-1], lambda kept: wrong(kept) is not None)
    return refused([rows[place].row for place in needed], f"{name}{wrong(needed)}")


def _contradiction(table: OperationTable, rows: list[_Row], number: int | None) -> str | None:
    """What is wrong with one transaction without failures, in words; None if nothing is.

    It says the same as the columns of `decide_atomic_commitment`, of few rows, some of which may
    be forgotten.
    """
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
        if len(in_time) >= needed:
            return None
        late = [row for row in votes if row.certain and row.call > decision.returned]
        then = ""
        if late:
            soonest = min(late, key=lambda row: row.call)
            when = at(table, soonest.call, decision.returned)
            then = f"; {who(table, soonest.row)} called its vote at {when} only"
        return (
            f"{_decided(table, decision, *late[:1])}, when at most {len(in_time)} of {needed} can "
            f"have voted yes{then}"
        )
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
