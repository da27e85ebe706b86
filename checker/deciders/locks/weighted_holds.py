"""The decider of all locks: holds have weights, and their sum must not exceed a capacity.

**Decided**, exactly: whether acquires and releases have a linearization that keeps the order of
each process, in which no acquire exceeds the capacity, and no process releases what it does not
hold (or no longer holds, because its session expired). The steps:

1. Acquires and releases are paired (`checker.deciders.locks.holds_table`); an acknowledged release
   by a process that holds nothing is a violation.
2. The overlap of cores must never exceed the capacity, and for each hold with an empty core there
   must be a time with room (`checker.deciders.locks.hold_loads`, with the proof).
3. Where a process acquires at the very time at which it then releases something else, it has both
   for a moment (`checker.deciders.locks.tied_turns`, with the proof).
4. Two holds of one session that were not released were both held when the later one was acquired,
   for the session lived then.

Expiry has no other effect: let each session expire right after the last call that shows that it
lived. Then each hold ends as early as possible, independently of all others. This requires that no
other hold of the session comes later. If a session has several holds that are not known to be
released, or if a process continues after an operation of unknown outcome, "no violation" would be a
guess. Such a history is searched if it is short (`checker.deciders.locks.lock_search`), and
otherwise unknown.

That a session expired unseen is an assumption. Whoever answers a user asks
`checker.deciders.assumed_ends` whether a history is valid by such an assumption alone.

**Cost**: O(n log n), by sorting; a search only where that leaves the answer open.
"""

from collections import defaultdict

import numpy as np

from rumpus.checker.deciders.decide import (
    NO_PART,
    Algorithm,
    Decider,
    ModelEntry,
    decided_key_by_key,
)
from rumpus.checker.deciders.decision import Budget, Decision, accepted, undecided
from rumpus.checker.deciders.locks.exclusion_witness import Conflict, Lock, explain
from rumpus.checker.deciders.locks.hold_loads import Loads, Pulses
from rumpus.checker.deciders.locks.holds_table import IGNORED, HoldsTable, LockRows, extract_holds
from rumpus.checker.deciders.locks.lock_search import LOCK_SEARCH, settle_by_search
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.tied_turns import (
    ends_by_release,
    refusal,
    turns,
)
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import Flags
from rumpus.checker.deciders.wording import at, who

OVERLAP = Algorithm(
    name="overlap of holds",
    when="always",
    cost="O(n log n)",
    source="intervals common to all linearizations (Herlihy and Wing, TOPLAS 1990)",
)
"""The row of this algorithm in the table of algorithms."""


def lock_model(
    name: str,
    summary: str,
    runs: str,
    functions: dict[str, str],
    decide_lock: Decider,
    initial: str | None = None,
) -> ModelEntry:
    """The entry of a lock that is decided by the overlap of its holds.

    ``decide_lock`` decides the operations of one lock. The rest is as in `ModelEntry`; functions
    are those that acquire and release.
    """
    return ModelEntry(
        name=name,
        summary=summary,
        runs=runs,
        functions={**functions, **dict.fromkeys(IGNORED, NO_PART)},
        initial=initial,
        algorithms=(OVERLAP, LOCK_SEARCH),
        decide=decided_key_by_key(decide_lock, OVERLAP),
        sequential=True,
        expires=True,
    )


def decide_exclusion(
    table: OperationTable, lock: Lock, lock_rows: LockRows, budget: Budget
) -> Decision:
    """Whether a lock's holds never exceed its capacity. Refused tries are ignored.

    Args:
        table: the operations of one lock.
        lock: its kind.
        lock_rows: which of them acquire and release.
        budget: of the search where the holds do not decide it.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
    lock_rows = lock_rows._replace(refused_tries=_NO_TRIES)
    holds = extract_holds(table, lock_rows, lock.nesting, lock.weight)
    decision = decide_holds(table, lock, lock_rows, holds)
    return settle_by_search(table, lock, lock_rows, decision, budget)


_NO_TRIES = np.zeros(0, dtype=np.int64)


def decide_holds(
    table: OperationTable, lock: Lock, lock_rows: LockRows, holds: HoldsTable
) -> Decision:
    """As `decide_exclusion`, but of holds that are extracted already, and without a search."""
    conflict = _first_conflict(table, lock, holds)
    if conflict is not None:
        return explain(table, lock, lock_rows, holds, conflict)
    doubts = [*holds.doubts, *_crowded_sessions(table, holds), *_touching(table, holds)]
    if lock.nesting in (Nesting.COUNTED, Nesting.WHOLE):
        for turn in turns(table, holds):
            if not turn.is_possible(lock.capacity):
                return refusal(table, lock_rows, holds, turn)
            if not turn.settled:
                doubts.append(
                    f"at {at(table, turn.time)} a process acquires and releases at once while "
                    "others hold what may be over"
                )
    return undecided(*doubts) if doubts else accepted()


def _first_conflict(table: OperationTable, lock: Lock, holds: HoldsTable) -> Conflict | None:
    if len(holds.orphans):
        return Conflict(orphan=int(holds.orphans[0]))
    if holds.again:
        return Conflict(again=holds.again[0])
    together = _unreleased_together(lock, holds)
    if together:
        return Conflict(together=tuple(together))
    start, end, weight = holds.start, holds.end, holds.weight
    core = start < end
    if not core.all():
        start, end, weight = start[core], end[core], weight[core]
    loads = Loads(start, end, weight, lock.capacity)
    overload = loads.first_overload()
    if overload is not None:
        return Conflict(overload=overload)
    pulse = loads.without_room(_pulses(table, holds, core))
    return None if pulse is None else Conflict(pulse=pulse)


def _pulses(table: OperationTable, holds: HoldsTable, core: Flags) -> Pulses:
    """Holds with an empty core, by the row of their acquire, or of the clean-up release."""
    short = np.flatnonzero(~core)
    cleanups = holds.cleanups
    return Pulses(
        row=np.concatenate((holds.acquire[short], cleanups)),
        low=np.concatenate((holds.earliest[short], table.call[cleanups])),
        high=np.concatenate((holds.start[short], table.returned[cleanups])),
        weight=np.concatenate((holds.weight[short], holds.cleanup_weight)),
    )


def _shared(holds: HoldsTable, which: Flags) -> dict[int, list[int]]:
    """Of some holds those that share a session with another of them, by session."""
    found: dict[int, list[int]] = defaultdict(list)
    expiring = np.flatnonzero((holds.session >= 0) & which)
    for hold, session in zip(expiring.tolist(), holds.session[expiring].tolist(), strict=True):
        found[session].append(hold)
    return {session: places for session, places in found.items() if len(places) > 1}


def _unreleased_together(lock: Lock, holds: HoldsTable) -> list[int]:
    """Acquires of one session that were not released and exceed the capacity together."""
    if holds.doubts:
        return []
    for places in _shared(holds, ~holds.released).values():
        kept = [hold for hold in places if holds.release[hold] < 0]
        weight = [int(holds.weight[hold]) for hold in kept]
        if sum(weight) > lock.capacity:
            for hold, own in list(zip(kept, weight, strict=True)):
                if sum(weight) - own > lock.capacity:
                    kept.remove(hold)
                    weight.remove(own)
            return [int(holds.acquire[hold]) for hold in kept]
    return []


def _crowded_sessions(table: OperationTable, holds: HoldsTable) -> list[str]:
    """Doubts: sessions in which one hold may have to end before another begins."""
    names = table.field("session")
    cleaned = set(names.numbers[holds.cleanups].tolist())
    short = holds.start >= holds.end
    crowded: list[str] = []
    for places in _shared(holds, short | ~holds.released).values():
        if short[places].any() and not holds.released[places].all():
            name = names[int(holds.acquire[places[0]])]
            crowded.append(f"session {name} has {len(places)} holds not known to be released")
    open_ = holds.acquire[(holds.session >= 0) & ~holds.released].tolist()
    return crowded + [
        f"session {names[row]} released what it may not hold"
        for row in open_
        if int(names.numbers[row]) in cleaned
    ]


def _touching(table: OperationTable, holds: HoldsTable) -> list[str]:
    """Doubts: processes with several holds, one that may have expired at the edge of another."""
    empty = holds.start >= holds.end
    empty &= (holds.start > holds.end) | ~ends_by_release(table, holds)
    if not empty.any():
        return []
    # What was released in parts makes several holds as well.
    acquires, parts = np.unique(holds.acquire, return_counts=True)
    split = table.process[acquires[parts > 1]].tolist()
    own = np.isin(table.process[holds.acquire], [*holds.nesting, *split])
    short = np.flatnonzero(own & empty)
    found: list[str] = []
    for hold in short.tolist():
        row = int(holds.acquire[hold])
        low, high = holds.earliest[hold], holds.start[hold]
        near = own & (table.process[holds.acquire] == table.process[row])
        near &= (holds.earliest <= high) & (np.maximum(holds.end, holds.start) >= low)
        near &= ~((holds.start < low) & (holds.end > high))
        if np.count_nonzero(near) > 1:
            found.append(
                f"{who(table, row)} acquired and released several at the same moment: its "
                f"{table.function(row)} (operation {int(table.index[row])})"
            )
    return found
