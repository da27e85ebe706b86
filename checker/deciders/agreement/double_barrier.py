"""A double barrier for N: nobody is in before N have entered, nobody out before all have left.

**Decided**: whether the operations can be explained by this object. Entering, a process takes its
place among the members; when there are N of them the barrier opens, and stays open until no
member is left. ``enter`` returns to a member once the barrier has opened; ``leave`` gives the
place back and returns once there is no member. So it can be used again, round after round. Two
points for each operation, then, and not one: where it comes, and where it goes.

Members vanish with their session. A process whose ``enter`` told its session may vanish at any
time after the last call of an acknowledged operation of that session, and one whose ``enter`` has
an unknown outcome at any time (or it never entered at all), unless it is known to leave later.

**Algorithms.** (1) If there are just N processes, each of which enters and leaves in turn, the
k-th round is made of the k-th operations of all. Its ``enter`` are in order if and only if all
have been called when the first of them returns; its ``leave`` if, when the first of them returns,
all members have called it or may have vanished. The rounds do not disturb each other, as nobody
calls ``enter`` for the next one before its ``leave`` of this one has returned. O(n log n), for one
sort. (2) Otherwise the general search decides, over a history in which every operation is
two, and every vanishing one that may happen or not.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from rumpus.checker.deciders.agreement.barrier import parties
from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.locks.holds_table import NO_SESSIONS, dense_sessions, last_evidence
from rumpus.checker.deciders.minimal_rows import minimise
from rumpus.checker.deciders.operation_table import (
    FAIL,
    INFO,
    MISSING,
    NEVER,
    OK,
    Flags,
    Ints,
    OperationTable,
    Values,
    WrongOperations,
)
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.model import ILLEGAL, Model

_ROUNDS = Algorithm(
    name="rounds of all parties",
    when="N processes that enter and leave in turn",
    cost="O(n log n)",
    source="common points of intervals (Helly); ZooKeeper's recipe of a double barrier",
)
_SEARCH = searched("otherwise, each operation as two")

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
    """The members; who was let in; who left and waits; who was let out; whether it is open.

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
    """What happened, process by process.

    Attributes:
        rows: all that may have happened, each process's in its order.
        enters: which of them enter.
        new: where a process begins.
        gone: of those that enter, until when the member was certainly there, if it called no
            ``leave`` before; `NEVER` for good.
    """

    rows: Ints
    enters: Flags
    new: Flags
    gone: Ints


def decide_double_barrier(table: OperationTable, number: int, budget: Budget) -> Decision:
    """Whether nobody was in before ``number`` had entered, or out before all had left.

    What is known of sessions is not forgotten with the operations that tell it (in the sense of
    `checker.deciders.decision.Witness`).

    Raises:
        WrongOperations: somebody leaves without having entered.
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
    gone[at_] = _last_signs(table, entered)
    gone[at_[table.outcome[entered] == INFO]] = MISSING
    # Who is known to leave later has not vanished before.
    stays = at_[:-1] if len(at_) and at_[-1] == len(rows) - 1 else at_
    stays = stays[~new[stays + 1] & ~enters[stays + 1]]
    gone[stays[table.outcome[rows[stays + 1]] == OK]] = NEVER
    return _Sequences(rows, enters, new, gone)


def _last_signs(table: OperationTable, entered: Ints) -> Ints:
    """Until when the sessions of some rows certainly lived; `NEVER` for those of none."""
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
    """By the k-th operations of all: even places enter, and odd ones leave."""
    rows, gone = sequences.rows, sequences.gone
    begins = np.flatnonzero(sequences.new)
    place = np.arange(len(rows)) - begins[np.cumsum(sequences.new) - 1]
    # A member is there until it leaves, if it does.
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
    # In earlier rounds, forgotten, who is missing here might have come.
    around = np.concatenate(parts[(step // 2 - 1) * 2 : step // 2 * 2 + 2])
    return refused([int(row) for row in rows[around]], words, minimal=False)


def _too_few(table: OperationTable, early: int, part: Ints, number: int) -> tuple[list[int], str]:
    """Somebody was in before all of a round had called ``enter``."""
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
    """Somebody was out before all of a round had called ``leave``."""
    end, began = int(table.returned[early]), int(table.call[early])
    own = leaves[table.process[leaves] == table.process[member]]
    told = [early, *own.tolist()]
    if table.returned[member] < began:
        told.append(member)
    else:
        # That it had entered by then is shown by who was in before.
        entered = np.flatnonzero(table.is_f("enter") & (table.process == table.process[early]))
        told.append(int(entered[np.searchsorted(entered, early) - 1]))
    words = f"{who(table, early)} was out by {at(table, end)}, when {who(table, member)} was in"
    if len(own):
        call = int(table.call[own[0]])
        return told, f"{words}: it called leave at {at(table, call, end)}"
    return told, f"{words}: it never left"


def _search(table: OperationTable, sequences: _Sequences, number: int, budget: Budget) -> Decision:
    """By the general search, over the points of the operations."""
    model = Membership(number)
    everything = np.ones(len(table), dtype=np.bool_)
    steps, of = _steps(table, sequences, everything)
    decision = check_linearizable(model, steps, budget)
    decision.algorithm = _SEARCH.name
    witness = decision.witness
    if witness is None:
        return decision

    def refuses(kept: list[int]) -> bool | None:
        known = np.zeros(len(table), dtype=np.bool_)
        known[kept] = True
        steps, _ = _steps(table, sequences, known)
        valid = check_linearizable(model, steps, budget, explain=False).valid
        return None if valid == "unknown" else not valid

    # Of the points that contradict each other no operation is whole.
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
    """Two points for each operation, and one at which a member may vanish.

    Args:
        table: the operations.
        sequences: the same, process by process.
        kept: which rows are not forgotten: of the others only the first point is left, at any
            time or never.

    Returns:
        The points, and of which row each is.
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
    )
    return steps, of


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    number = parties(initial, "double-barrier")
    return in_turns(table, lambda part, share: decide_double_barrier(part, number, share), budget)


DOUBLE_BARRIER = ModelEntry(
    name="double-barrier",
    summary="nobody is in before N have entered, and nobody out before all have left",
    runs="`double-barrier`, where no outcome is unknown",
    functions={
        "enter": "() -> anything, once N have entered; a session, if members vanish with it",
        "leave": "() -> anything, once nobody is in",
    },
    initial="N, how many must enter",
    algorithms=(_ROUNDS, _SEARCH),
    decide=_decide,
)
