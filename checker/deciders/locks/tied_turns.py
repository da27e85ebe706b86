"""Times at which a process acquires and then releases something else that it holds.

The overlap of cores (`checker.deciders.locks.hold_loads`) lets all releases of a time come before
all acquires. A process cannot do so if it acquires at the very time at which it then gives up what
it held before: for a moment it has both. At such a **turn** each process has a *chain*: what it
acquires (by operations that return then) and releases (by those that are called then), in its
order. All that is held across the turn stays. The turn is possible if and only if the chains can be
interleaved so that never too much is held.

**Right**: in any linearization, what returns at the time may have taken effect earlier, and what is
called then may do so later. Bring all of it to the turn: acquires that came earlier stand first in
their chains, and releases that came later stand last, so the order of each process stays, and at no
point more is held than just before the turn, within it, or just after it.

**Decided** by the method for chains with the least greatest cost (Abdel-Wahab and Kameda,
Scheduling to minimize maximum cumulative cost subject to series-parallel precedence constraints,
Operations Research 1978). A chain goes on to where it holds no more than it does now as soon as
there is room for the way: that hinders no other. If so all chains reach their least levels from the
beginning, and backwards from the end, the rest is put together from the two ways; if one of them is
stuck, whichever chain goes on first exceeds the capacity.

**Cost**: O(n log n) for processes that hold several things at a time, and at each turn the product
of its chains and their steps.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.locks.holds_table import HoldsTable, LockRows
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import MISSING, Flags, Ints
from rumpus.checker.deciders.wording import at


class Turn(NamedTuple):
    """A time at which some process acquires before it releases something else.

    Attributes:
        time: of the table.
        holds: that begin then, end then, or are held across it.
        across: how much is held across it.
        chains: of each process that acquires or releases then: what it holds before its first step
            and after each.
        settled: whether all is known that counts then; if not, only a refusal is certain.
    """

    time: int
    holds: list[int]
    across: int
    chains: list[list[int]]
    settled: bool

    def is_possible(self, capacity: int) -> bool:
        """Whether never too much is held, if the steps are taken in the best order."""
        room = capacity - self.across
        backwards = [chain[::-1] for chain in self.chains]
        return _reach_least(self.chains, room) and _reach_least(backwards, room)


def turns(table: OperationTable, holds: HoldsTable) -> Iterator[Turn]:
    """All turns of a lock of which a process can hold several shares, in order."""
    process = table.process[holds.acquire]
    # What was released in parts makes several holds as well.
    acquires, parts = np.unique(holds.acquire, return_counts=True)
    split = process[np.isin(holds.acquire, acquires[parts > 1])].tolist()
    own = np.isin(process, [*holds.nesting, *split])
    if not own.any():
        return
    released = ends_by_release(table, holds)
    times = _times(holds, process, own, released)
    open_ = _open(table, holds, times)
    order = iter(np.argsort(holds.start, kind="stable").tolist())
    following = next(order, None)
    held: list[int] = []
    for time, unsettled in zip(times.tolist(), open_.tolist(), strict=True):
        while following is not None and holds.start[following] <= time:
            held.append(following)
            following = next(order, None)
        held = [hold for hold in held if holds.end[hold] >= time]
        yield _turn(table, holds, released, time, held, settled=not unsettled)


def _times(holds: HoldsTable, process: Ints, own: Flags, released: Flags) -> Ints:
    """When there are turns; ``own``: the holds of processes that have several at a time."""
    begun: dict[tuple[int, int], list[int]] = defaultdict(list)
    for hold in np.flatnonzero(own).tolist():
        begun[int(process[hold]), int(holds.start[hold])].append(hold)
    times: set[int] = set()
    for hold in np.flatnonzero(own & released).tolist():
        then = begun.get((int(process[hold]), int(holds.end[hold])), ())
        if any(other != hold and holds.acquire[other] < holds.release[hold] for other in then):
            times.add(int(holds.end[hold]))
    return np.array(sorted(times), dtype=np.int64)


def _open(table: OperationTable, holds: HoldsTable, times: Ints) -> Flags:
    """At which times there may be room for what may have been over before it was known."""
    over = holds.end < holds.start
    low = np.concatenate((holds.earliest[over], table.call[holds.cleanups]))
    high = np.concatenate((holds.start[over], table.returned[holds.cleanups]))
    begun = np.searchsorted(np.sort(low), times, side="right")
    found: Flags = begun > np.searchsorted(np.sort(high), times, side="left")
    return found


def ends_by_release(table: OperationTable, holds: HoldsTable) -> Flags:
    """The holds that end with a release, not because their session may have expired before."""
    known: Flags = (holds.release >= 0) & (holds.end == table.call[holds.release])
    return known


def _turn(
    table: OperationTable,
    holds: HoldsTable,
    released: Flags,
    time: int,
    held: list[int],
    *,
    settled: bool,
) -> Turn:
    steps: dict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    levels: dict[tuple[int, int], int] = defaultdict(int)
    across = 0
    for hold in held:
        begins, ends = holds.start[hold] == time, holds.end[hold] == time
        weight, acquire = int(holds.weight[hold]), int(holds.acquire[hold])
        if not (begins or ends):
            across += weight
            continue
        # An expiry is in no order with what its process does.
        expires = ends and not released[hold]
        chain = int(table.process[acquire]), hold if expires else -1
        if begins:
            steps[chain][acquire] += weight
        else:
            levels[chain] += weight
        if ends:
            steps[chain][len(table) if expires else int(holds.release[hold])] -= weight
    chains = [
        list(accumulate((each[row] for row in sorted(each)), initial=levels[chain]))
        for chain, each in steps.items()
    ]
    alone = len({process for process, _ in steps}) == len(steps)
    return Turn(time, list(held), across, chains, settled and alone)


def _reach_least(chains: list[list[int]], room: int) -> bool:
    """Whether all chains can reach the last of their least levels from the beginning."""
    place = [0] * len(chains)
    held = sum(levels[0] for levels in chains)
    if held > room:
        return False
    moved = True
    while moved:
        moved = False
        for number, levels in enumerate(chains):
            while (goal := _no_higher(levels, place[number])) is not None:
                here = levels[place[number]]
                if held - here + max(levels[place[number] : goal + 1]) > room:
                    break
                held += levels[goal] - here
                place[number] = goal
                moved = True
    return all(_no_higher(levels, here) is None for here, levels in zip(place, chains, strict=True))


def _no_higher(levels: list[int], place: int) -> int | None:
    """The next place at which no more is held than at this one."""
    here = levels[place]
    return next((there for there in range(place + 1, len(levels)) if levels[there] <= here), None)


def refusal(table: OperationTable, lock_rows: LockRows, holds: HoldsTable, turn: Turn) -> Decision:
    """The refusal of a history in which too much is held at a turn; its rows may be too many."""
    concerned = holds.acquire[np.array(turn.holds)]
    processes = np.unique(table.process[concerned])
    rows: list[int] = []
    sessions = set(holds.session[np.array(turn.holds)].tolist()) - {-1}
    if sessions:  # what shows that they lived counts, too
        own = np.isin(table.process, processes) | (table.field("session").numbers != MISSING)
        rows += np.flatnonzero(own).tolist()
    changes = lock_rows.acquires | lock_rows.releases
    for process in processes.tolist():
        own = np.flatnonzero(changes & (table.process == process))
        first = int(concerned[table.process[concerned] == process].min())
        rows += own[(own >= _first_of(table, holds, process, first))].tolist()
    names = [f"process {process}" for process in processes.tolist()]
    together = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return refused(
        _until_after(table, rows, turn.time),
        f"what {together} acquired and released at {at(table, turn.time)} is too much at once "
        "in every order that keeps that of each process",
        minimal=False,
    )


def _first_of(table: OperationTable, holds: HoldsTable, process: int, row: int) -> int:
    """The first acquire of a process since it last held nothing before a row."""
    own = np.flatnonzero(table.process[holds.acquire] == process)
    acquire, release = holds.acquire[own], holds.release[own]
    while (over := (acquire < row) & ((release > row) | (release < 0))).any():
        row = int(acquire[over].min())
    return row


def _until_after(table: OperationTable, rows: list[int], time: int) -> list[int]:
    """The rows up to the first of each process that is called after a time."""
    kept: list[int] = []
    over: set[int] = set()
    for row in sorted(set(rows)):
        process = int(table.process[row])
        if process not in over:
            kept.append(row)
        if table.call[row] > time:
            over.add(process)
    return kept
