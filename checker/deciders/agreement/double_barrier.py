"""A double barrier for N: no ``enter`` returns before N entered, no ``leave`` before all left.

**Decided**: whether the operations are those of this object. ``enter`` makes a process a member;
when there are N members the barrier opens, and stays open until there is no member. ``enter`` of a
member returns once the barrier has opened; ``leave`` ends the membership and returns once there is
no member. So the barrier can be used in many rounds. Each operation takes effect at two points:
when it changes the members, and when it returns.

A membership ends with its session. If the result of ``enter`` names the session it may end at any
time after the last call of an acknowledged operation of that session. If ``enter`` has an unknown
outcome its membership may end at any time (or have never begun), unless the process is known to
leave later.

**Algorithms.** (1) If there are exactly N processes, each of which enters and leaves in turn, round
k consists of the k-th operations of all. Its ``enter`` are correct if and only if all have been
called when the first of them returns; its ``leave`` if, when the first of them returns, each member
has called it or its session may have ended. The rounds are independent, as no process calls
``enter`` for the next one before its ``leave`` of this one has returned. O(n log n), for one sort.
(2) Otherwise the general search decides, over a history with two operations for each recorded one,
and one of unknown outcome for each membership that may end with its session.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from rumpus.checker.deciders.agreement.barrier import parties
from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.locks.holds_table import NO_SESSIONS, dense_sessions, last_evidence
from rumpus.checker.deciders.minimal_rows import minimise
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Flags, Ints, Values, WrongOperations
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.model import ILLEGAL, Model

_ROUNDS = Algorithm(
    name="rounds of all parties",
    when="N processes that enter and leave in turn",
    cost="O(n log n)",
    source="common points of intervals (Helly); ZooKeeper's recipe of a double barrier",
)

_COME, _IN, _GO, _OUT, _VANISH = range(5)
_STEPS = ("come", "in", "go", "out", "vanish")


_IN_WORDS = {
    "come": "enter() coming in",
    "in": "enter() returning",
    "go": "leave() going",
    "out": "leave() returning",
    "vanish": "end of its session",
}


class Membership(Model):
    """The members; those let in; those that leave and wait; those let out; whether it is open.

    Each operation is two: ``enter`` is ``come`` and ``in``, ``leave`` is ``go`` and ``out``.
    """

    name = "double-barrier"
    functions = frozenset(_STEPS)
    observers = frozenset({"in", "out"})
    columns = ("process",)
    initial: Hashable = (frozenset(), frozenset(), frozenset(), frozenset(), False)

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:  # noqa: ARG002 - the model's signature
        """The next state."""
        assert isinstance(argument, tuple)
        assert isinstance(state, tuple)
        members, let_in, leaving, let_out, is_open = state
        process = frozenset({argument[0]})
        if f == "in":
            return state if process <= let_in else ILLEGAL
        if f == "out":
            return state if process <= let_out else ILLEGAL
        if f == "come":
            members, let_out = members | process, let_out - process
            if is_open or len(members) >= self.number:
                return members, let_in | members, leaving, let_out, True
            return members, let_in, leaving, let_out, False
        members = members - process
        if f == "go":
            let_in, leaving = let_in - process, leaving | process
        if not members:
            return members, let_in, frozenset(), let_out | leaving, False
        return members, let_in, leaving, let_out, is_open

    def describe(self, f: str, argument: Hashable, result: Hashable) -> str:  # noqa: ARG002 - the model's signature
        """A point in words."""
        return _IN_WORDS[f]

    def describe_state(self, state: Hashable) -> str:
        """Who is in."""
        assert isinstance(state, tuple)
        names = ", ".join(str(each) for each in sorted(state[0])) or "nobody"
        return f"{'open' if state[4] else 'closed'}, with {names} in"


@dataclass(frozen=True)
class _Sequences:
    """The operations that did not fail, process by process.

    Attributes:
        rows: the operations of each process in its order, one process after the other.
        enters: mask of those that enter.
        new: mask of the first operation of each process.
        gone: for those that enter, the time until which the process was certainly a member if it
            did not leave before; `NEVER` if the membership cannot end by itself.
    """

    rows: Ints
    enters: Flags
    new: Flags
    gone: Ints


def decide_double_barrier(table: OperationTable, number: int, budget: Budget) -> Decision:
    """Whether no ``enter`` returned before ``number`` entered, and no ``leave`` before all left.

    Witnesses keep what is known of sessions, also from operations that are forgotten (in the sense
    of `checker.deciders.decision.Witness`).

    Raises:
        WrongOperations: a process leaves without having entered.
    """
    sequences = _sequences(table)
    if not len(sequences.rows):
        return accepted()
    if _is_in_rounds(table, sequences, number):
        decision = _decide_rounds(table, sequences, number)
        decision.algorithm = _ROUNDS.name
        return decision
    return _search(table, sequences, number, budget)


def _sequences(table: OperationTable) -> _Sequences:
    rows = np.flatnonzero(table.outcome != FAIL)
    rows = rows[np.argsort(table.process[rows], kind="stable")]
    process = table.process[rows]
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = process[1:] != process[:-1]
    enters = table.is_f("enter")[rows]
    if (new & ~enters).any():
        row = int(rows[np.argmax(new & ~enters)])
        raise WrongOperations(
            f"{who(table, row)} leaves (operation {int(table.index[row])}) without having entered"
        )
    at_ = np.flatnonzero(enters)
    entered = rows[at_]
    gone = np.full(len(rows), NEVER)
    gone[at_] = _certainly_alive(table, entered)
    gone[at_[table.outcome[entered] == INFO]] = MISSING
    # A process that is known to leave later was a member until then.
    stays = at_[:-1] if len(at_) and at_[-1] == len(rows) - 1 else at_
    stays = stays[~new[stays + 1] & ~enters[stays + 1]]
    gone[stays[table.outcome[rows[stays + 1]] == OK]] = NEVER
    return _Sequences(rows, enters, new, gone)


def _certainly_alive(table: OperationTable, entered: Ints) -> Ints:
    """Until when the sessions of some rows certainly lived; `NEVER` for rows without one."""
    session = dense_sessions(table)
    until = np.full(len(entered), NEVER)
    if session is not NO_SESSIONS:
        alive = last_evidence(table, session, np.zeros(0, dtype=np.int64), entered[:0])
        named = session[entered] >= 0
        until[named] = alive[session[entered[named]]]
    return until


def _is_in_rounds(table: OperationTable, sequences: _Sequences, number: int) -> bool:
    """Whether N processes enter and leave in turn, and nothing is unknown but their last calls."""
    new, enters = sequences.new, sequences.enters
    if np.count_nonzero(new) != number:
        return False
    same = (enters[1:] == enters[:-1]) & ~new[1:]
    last = np.concatenate((new[1:], [True]))
    return not same.any() and not ((table.outcome[sequences.rows] == INFO) & ~last).any()


def _decide_rounds(table: OperationTable, sequences: _Sequences, number: int) -> Decision:
    """Decide by the k-th operations of all processes: for even k they enter, for odd k leave."""
    rows, gone = sequences.rows, sequences.gone
    begins = np.flatnonzero(sequences.new)
    place = np.arange(len(rows)) - begins[np.cumsum(sequences.new) - 1]
    # A membership ends at the latest with the call of leave.
    leaves = np.flatnonzero(~sequences.enters)
    gone = gone.copy()
    gone[leaves - 1] = np.minimum(gone[leaves - 1], table.call[rows[leaves]])
    order = np.argsort(place, kind="stable")
    rows, gone = rows[order], gone[order]
    starts = np.searchsorted(place[order], np.arange(int(place.max()) + 1))
    sizes = np.diff(np.append(starts, len(rows)))
    first = np.minimum.reduceat(table.returned[rows], starts)
    latest = np.maximum.reduceat(table.call[rows], starts)
    latest[1::2] = np.maximum.reduceat(gone, starts)[::2][: len(latest[1::2])]
    wrong = (latest > first) | ((sizes < number) & (np.arange(len(starts)) % 2 == 0))
    wrong &= first != NEVER
    if not wrong.any():
        return accepted()
    step = int(np.argmax(wrong))
    parts = np.split(np.arange(len(rows)), starts[1:])
    part = rows[parts[step]]
    early = int(part[np.argmin(table.returned[part])])
    if step % 2:
        held = parts[step - 1]
        late = int(rows[held[np.argmax(gone[held])]])
        told, words = _still_in(table, early, late, part)
    else:
        told, words = _too_few(table, early, part, number)
    if step < 2:
        return refused(told, words)
    # With earlier rounds forgotten, their operations could belong to this round.
    around = np.concatenate(parts[(step // 2 - 1) * 2 : step // 2 * 2 + 2])
    return refused([int(row) for row in rows[around]], words, minimal=False)


def _too_few(table: OperationTable, early: int, part: Ints, number: int) -> tuple[list[int], str]:
    """An ``enter`` returned before all of its round had called ``enter``."""
    end = int(table.returned[early])
    came = int(np.count_nonzero(table.call[part] <= end))
    words = (
        f"{who(table, early)} was in by {at(table, end)}, when only {came} of {number} had called "
        "enter for this round"
    )
    late = int(part[np.argmax(table.call[part])])
    call = int(table.call[late])
    if call > end:
        words += f"; {who(table, late)} did at {at(table, call, end)}"
        return [early, late], words
    return [early], f"{words}, and no other did"


def _still_in(
    table: OperationTable, early: int, member: int, leaves: Ints
) -> tuple[list[int], str]:
    """A ``leave`` returned before all of its round had called ``leave``."""
    end, began = int(table.returned[early]), int(table.call[early])
    own = leaves[table.process[leaves] == table.process[member]]
    told = [early, *own.tolist()]
    if table.returned[member] < began:
        told.append(member)
    else:
        # That it had entered by then follows from an earlier enter that returned.
        entered = np.flatnonzero(table.is_f("enter") & (table.process == table.process[early]))
        told.append(int(entered[np.searchsorted(entered, early) - 1]))
    words = f"{who(table, early)} was out by {at(table, end)}, when {who(table, member)} was in"
    if len(own):
        call = int(table.call[own[0]])
        return told, f"{words}: it called leave at {at(table, call, end)}"
    return told, f"{words}: it never left"


def _search(table: OperationTable, sequences: _Sequences, number: int, budget: Budget) -> Decision:
    """Decide by the general search, over the points of the operations."""
    model = Membership(number)
    everything = np.ones(len(table), dtype=np.bool_)
    steps, of = _steps(table, sequences, everything)
    decision = check_linearizable(model, steps, budget)
    witness = decision.witness
    if witness is None:
        return decision

    def refuses(kept: list[int]) -> bool | None:
        known = np.zeros(len(table), dtype=np.bool_)
        known[kept] = True
        steps, _ = _steps(table, sequences, known)
        valid = check_linearizable(model, steps, budget, explain=False).valid
        return None if valid == "unknown" else not valid

    # The witness of the search has points; operations are minimised instead.
    rows = np.unique(of[witness.operations])
    witness.operations, doubtful = minimise(rows[::-1].tolist(), refuses)
    witness.operations.sort()
    witness.minimal = not doubtful
    witness.prefix = None
    witness.stuck = None if witness.stuck is None else int(of[witness.stuck])
    return decision


def _steps(
    table: OperationTable, sequences: _Sequences, kept: Flags
) -> tuple[OperationTable, Ints]:
    """Two points for each operation, and one at which a membership may end with its session.

    Args:
        table: the operations.
        sequences: the same, process by process.
        kept: mask of the rows that are not forgotten; the others have only their first point, at
            any time or never.

    Returns:
        The points, and the row of each.
    """
    rows = np.sort(sequences.rows)
    known = rows[(table.outcome[rows] == OK) & kept[rows]]
    places = np.flatnonzero(sequences.enters & (sequences.gone != NEVER))
    vanish = sequences.rows[places]
    enters = table.is_f("enter")
    f = np.concatenate(
        (
            np.where(enters[rows], _COME, _GO),
            np.where(enters[known], _IN, _OUT),
            np.full(len(vanish), _VANISH),
        )
    )
    of = np.concatenate((rows, known, vanish))
    call = np.where(kept[of], table.call[of], MISSING)
    call[len(rows) + len(known) :] = np.maximum(sequences.gone[places], table.call[vanish])
    sure = kept[of] & (f != _VANISH)
    order = np.argsort(call, kind="stable")
    of, sure = of[order], sure[order]
    nothing = Values(np.full(len(of), MISSING))
    steps = OperationTable(
        functions=_STEPS,
        f=f[order].astype(np.int16),
        outcome=np.where(sure, table.outcome[of], INFO).astype(np.int8),
        process=table.process[of],
        call=call[order],
        returned=np.where(sure, table.returned[of], NEVER),
        argument=nothing,
        result=nothing,
        index=table.index[of],
        start=table.start,
        ticks=table.ticks,
    )
    return steps, of


DOUBLE_BARRIER = ModelEntry(
    name="double-barrier",
    summary="nobody is in before N have entered, and nobody out before all have left",
    runs="`double-barrier`, where no outcome is unknown",
    functions={
        "enter": "() -> anything, once N have entered; a session, if members vanish with it",
        "leave": "() -> anything, once nobody is in",
    },
    initial="N, how many must enter",
    expires=True,
    algorithms=(_ROUNDS, searched("otherwise, each operation as two")),
    decide=decided_key_by_key(
        lambda part, initial, budget: decide_double_barrier(
            part, parties(initial, "double-barrier"), budget
        )
    ),
)
