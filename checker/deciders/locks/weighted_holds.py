"""Locks of any kind are decided alike: as holds with weights, of which so much may stand at once.

**Decided**, exactly: whether acquires and releases can be put in one order that respects time and
the order of each process, in which nobody is granted what is not free, and nobody releases what
it does not hold (or holds no more, its session having expired). In these steps:

1. Acquires and releases are paired (`checker.deciders.locks.holds_table`); an acknowledged release
   by who holds nothing is a violation.
2. The overlap of cores must never exceed the capacity, and holds that need not have lasted must
   find a moment with room (`checker.deciders.locks.hold_loads`, with the proof).
3. Two holds of one session, neither of which was released by anybody, stood together when the
   later one was acquired, for the session lived then.

Expiry changes nothing else: a session may be taken to expire right after the last call that
proves it alive, and a hold's end is then as early as can be, independently of all others. That
needs that no other hold of the session has to be placed later than that. Where a session has
several holds that are not known to be released the answer "no violation" would be a guess, and
is not given; nor is it if a process goes on after an operation of unknown outcome. Such a history
is searched if it is short (`checker.deciders.locks.lock_search`), and else unknown.

**Cost**: O(n log n), by sorting; a search only where that leaves the answer open.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, in_turns
from rumpus.checker.deciders.decision import Budget, Decision, accepted, undecided
from rumpus.checker.deciders.locks.exclusion_witness import Conflict, Lock, explain
from rumpus.checker.deciders.locks.hold_loads import Loads, Pulses
from rumpus.checker.deciders.locks.holds_table import HoldsTable, extract_holds
from rumpus.checker.deciders.locks.lock_search import settle_by_search
from rumpus.checker.deciders.operation_table import Flags, OperationTable
from rumpus.checker.deciders.wording import who

OVERLAP = Algorithm(
    name="overlap of holds",
    when="always",
    cost="O(n log n)",
    source="intervals common to all linearizations (Herlihy and Wing, TOPLAS 1990)",
)
"""How locks are decided, for the table of algorithms."""


def decide_exclusion(
    table: OperationTable, lock: Lock, acquires: Flags, releases: Flags, budget: Budget
) -> Decision:
    """Whether a lock's holds exclude each other as they should.

    Args:
        table: the operations of one lock.
        lock: its kind.
        acquires: rows that acquire, or may have.
        releases: rows that release, or may have.
        budget: of a search where the holds leave the answer open.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
    holds = extract_holds(table, acquires, releases, lock.nesting, lock.weight)
    operations = acquires, releases
    decision = decide_holds(table, lock, operations, holds)
    return settle_by_search(table, lock, operations, NO_TRIES, decision, budget)


NO_TRIES = np.zeros(0, dtype=np.int64)


def decide_locks(
    table: OperationTable,
    decide_part: Callable[[OperationTable, Budget], Decision],
    budget: Budget,
) -> Decision:
    """Each lock judged by itself (`checker.deciders.decide.in_turns`)."""

    def named(part: OperationTable, share: Budget) -> Decision:
        decision = decide_part(part, share)
        decision.algorithm = decision.algorithm or OVERLAP.name
        return decision

    return in_turns(table, named, budget)


def decided_lock_by_lock(
    decide_part: Callable[[OperationTable, Budget], Decision],
) -> Callable[[OperationTable, Hashable, Budget], Decision]:
    """``decide`` of a lock's model without an initial value."""
    return lambda table, _initial, budget: decide_locks(table, decide_part, budget)


def decide_holds(
    table: OperationTable, lock: Lock, operations: tuple[Flags, Flags], holds: HoldsTable
) -> Decision:
    """The same, of holds that are known already.

    Args:
        table: the operations of one lock.
        lock: its kind.
        operations: rows that acquire, and that release, or may have.
        holds: what `extract_holds` makes of them.
    """
    conflict = _first_conflict(table, lock, holds)
    if conflict is not None:
        return explain(table, lock, operations, holds, conflict)
    doubts = [*holds.doubts, *_crowded_sessions(table, holds), *_touching(table, holds)]
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
    """Holds that need not have lasted, by the row of their acquire, or of the release."""
    short = np.flatnonzero(~core)
    cleanups = holds.cleanups
    return Pulses(
        row=np.concatenate((holds.acquire[short], cleanups)),
        low=np.concatenate((holds.earliest[short], table.call[cleanups])),
        high=np.concatenate((holds.start[short], table.returned[cleanups])),
        weight=np.concatenate((holds.weight[short], holds.cleanup_weight)),
    )


def _shared(holds: HoldsTable, which: Flags) -> dict[int, list[int]]:
    """Those of some holds that are of one session, by session, where it has several of them."""
    found: dict[int, list[int]] = defaultdict(list)
    expiring = np.flatnonzero((holds.session >= 0) & which)
    for at, session in zip(expiring.tolist(), holds.session[expiring].tolist(), strict=True):
        found[session].append(at)
    return {session: places for session, places in found.items() if len(places) > 1}


def _unreleased_together(lock: Lock, holds: HoldsTable) -> list[int]:
    """Acquires of one session that nobody released and that weigh too much together."""
    if holds.doubts:
        return []
    for places in _shared(holds, ~holds.released).values():
        kept = [at for at in places if holds.release[at] < 0]
        weight = [int(holds.weight[at]) for at in kept]
        if sum(weight) > lock.capacity:
            for at, own in list(zip(kept, weight, strict=True)):
                if sum(weight) - own > lock.capacity:
                    kept.remove(at)
                    weight.remove(own)
            return [int(holds.acquire[at]) for at in kept]
    return []


def _crowded_sessions(table: OperationTable, holds: HoldsTable) -> list[str]:
    """Where one hold may have to end before another of its session begins."""
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
    """Where a process holds several, and one need not have lasted at the edge of another."""
    empty = holds.start >= holds.end
    if not empty.any():
        return []
    # What was released in parts makes several holds as well.
    acquires, parts = np.unique(holds.acquire, return_counts=True)
    split = table.process[acquires[parts > 1]].tolist()
    own = np.isin(table.process[holds.acquire], [*holds.nesting, *split])
    short = np.flatnonzero(own & empty)
    found: list[str] = []
    for at in short.tolist():
        row = int(holds.acquire[at])
        low, high = holds.earliest[at], holds.start[at]
        near = own & (table.process[holds.acquire] == table.process[row])
        near &= (holds.earliest <= high) & (np.maximum(holds.end, holds.start) >= low)
        near &= ~((holds.start < low) & (holds.end > high))
        if np.count_nonzero(near) > 1:
            found.append(
                f"{who(table, row)} acquired and released several at the same moment: its "
                f"{table.function(row)} (operation {int(table.index[row])})"
            )
    return found
