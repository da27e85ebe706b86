"""Tries to acquire a mutex that were refused: each must have found it held.

**Decided**, exactly but for the case below: whether holds can be placed so that every refused
try meets one. The cores of holds (`checker.specialised.holds_table`) give their order. Between
two neighbours the first can last until its release returned, and the second begin when its
acquire was called, and each pair can do so whatever the others do (an acquire's point is before
its core, a release's after it). If the two meet, no time between them is certainly free. If not,
the gap between is, and a refused try that lies in it is wrong, unless an acquire of unknown
outcome took effect there. Such a one fits into one gap only, and into all gaps that end after it
was called (if its hold can end: by its release, or with its session), so it is enough to serve
the gaps in order of time.

Holds that need not have lasted have their place in the order too, unless more than one is
possible. Then a try is only refused for certain if no such hold can have been near it, and
otherwise the answer is unknown.

**Cost**: O(n log n).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from checker.decision import Decision, refused, undecided
from checker.operation_table import MISSING, NEVER, OK, Ints, OperationTable
from checker.specialised.holds_table import NO_SESSIONS, Flags, HoldsTable, dense_sessions
from checker.wording import at, between, who


class _Spans(NamedTuple):
    """Holds in order: when each began and ended, at the earliest and at the latest."""

    called: Ints
    begun: Ints
    over: Ints
    returned: Ints

    def take(self, which: Ints | Flags) -> "_Spans":
        return _Spans(*(column[which] for column in self))

    def join(self, other: "_Spans") -> "_Spans":
        return _Spans(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def decide_refused_tries(
    table: OperationTable, operations: tuple[Flags, Flags], holds: HoldsTable, tries: Ints
) -> Decision | None:
    """What refused tries say about a mutex whose holds exclude each other; None if nothing.

    Args:
        table: the operations of one mutex.
        operations: rows that acquire, and that release, or may have.
        holds: its holds.
        tries: rows of tries that were refused.
    """
    if not len(tries):
        return None
    sure, floating = _in_order(table, holds)
    earliest = np.maximum(sure.called, np.concatenate(([MISSING], sure.over[:-1])))
    latest = np.minimum(sure.returned, np.concatenate((sure.begun[1:], [NEVER])))
    free_from = np.concatenate(([MISSING], latest))
    free_until = np.concatenate((earliest, [NEVER]))
    call, returned = table.call[tries], table.returned[tries]
    gap = np.minimum(np.searchsorted(free_until, returned, side="right"), len(earliest))
    alone = (free_from[gap] < call) & (returned < free_until[gap])
    if not alone.any():
        return None
    alone &= ~_near(floating, call, returned) if len(floating.called) else alone
    lonely = np.flatnonzero(alone)
    if holds.doubts or len(floating.called):
        maybe = table.call[holds.maybe]
        first = int(maybe.min()) if len(maybe) else NEVER
        lonely = lonely[returned[lonely] < first] if not holds.doubts else lonely[:0]
        if not len(lonely):
            return undecided("it is not known which hold the refused tries found")
        place = int(lonely[0])
        return _refuse(
            table,
            operations,
            int(tries[place]),
            (free_from, free_until),
            int(gap[place]),
            exact=False,
        )
    place_, helped = _unserved(
        table, holds, operations[1], sure.begun, gap[lonely], returned[lonely]
    )
    if place_ is None:
        return None
    place = int(lonely[place_])
    exact = not helped and bool(holds.released.all()) and not len(holds.cleanups)
    return _refuse(
        table, operations, int(tries[place]), (free_from, free_until), int(gap[place]), exact=exact
    )


def _in_order(table: OperationTable, holds: HoldsTable) -> tuple[_Spans, _Spans]:
    """Holds that have one place in the order, in order; and those that may have several."""
    until = np.where(holds.released, table.returned[holds.release], NEVER)
    spans = _Spans(table.call[holds.acquire], holds.start, holds.end, until)
    core = holds.start < holds.end
    cores = spans.take(core)
    cores = cores.take(np.argsort(cores.begun, kind="stable"))
    short = spans.take(~core)._replace(over=holds.earliest[~core])
    cleaned = holds.cleanups
    short = short.join(
        _Spans(
            table.call[holds.cleanup_acquires],
            table.returned[cleaned],
            table.call[cleaned],
            table.returned[cleaned],
        )
    )
    if not len(short.called):
        return cores, short
    short = _between_cores(cores, short)
    short = short.take(np.argsort(short.over, kind="stable"))
    place = np.searchsorted(cores.over, short.over, side="right")
    several = place != np.searchsorted(cores.over, short.begun, side="right")
    high = np.maximum.accumulate(short.begun)
    meets = short.over[1:] <= high[:-1]
    several |= np.concatenate((meets, [False])) | np.concatenate(([False], meets))
    if several.any():
        return cores, short
    sure = cores.join(short)
    first = np.concatenate((cores.begun, short.over))
    last = np.concatenate((cores.over, short.begun))
    return sure.take(np.lexsort((last, first))), short.take(several)


def _between_cores(cores: _Spans, short: _Spans) -> _Spans:
    """The windows of holds that need not have lasted, without what cores cover at their ends."""
    if not len(cores.called):
        return short
    low, high = short.over.copy(), short.begun.copy()
    before = np.searchsorted(cores.begun, low, side="left") - 1
    inside = (before >= 0) & (low < cores.over[before])
    low[inside] = cores.over[before[inside]]
    after = np.searchsorted(cores.over, high, side="right")
    known = np.minimum(after, len(cores.called) - 1)
    inside = (after < len(cores.called)) & (cores.begun[known] < high)
    high[inside] = cores.begun[known[inside]]
    return short._replace(over=low, begun=high)


def _near(floating: _Spans, call: Ints, returned: Ints) -> Flags:
    """Which tries some hold of uncertain place may have met."""
    by_call = np.sort(floating.called)
    by_end = np.sort(floating.returned)
    begun = np.searchsorted(by_call, returned, side="right")
    over = np.searchsorted(by_end, call, side="left")
    near: Flags = begun > over
    return near


def _unserved(
    table: OperationTable,
    holds: HoldsTable,
    releases: Flags,
    begun: Ints,
    gap: Ints,
    returned: Ints,
) -> tuple[int | None, bool]:
    """The first try in a gap that no acquire of unknown outcome is left for; and if any helped.

    Args:
        table: the operations.
        holds: its holds.
        releases: rows that release, or may have.
        begun: when each hold had begun at the latest, in order.
        gap: the gap in which each try lies, growing.
        returned: when each try returned.
    """
    order = np.lexsort((returned, gap))
    gaps, at_ = np.unique(gap[order], return_index=True)
    needed = [(int(g), int(order[first])) for g, first in zip(gaps, at_, strict=True)]
    latest = np.concatenate((begun, [NEVER]))
    waiting = sorted(_available(table, holds, releases))
    ready: list[int] = []
    helped = False
    for number, place in needed:
        while waiting and waiting[0][0] <= returned[place]:
            ready.append(waiting.pop(0)[1])
        usable = next((end for end in ready if end <= latest[number]), None)
        if usable is None:
            return place, helped or bool(ready)
        ready.remove(usable)
        helped = True
    return None, helped


def _available(
    table: OperationTable, holds: HoldsTable, releases: Flags
) -> Iterable[tuple[int, int]]:
    """Acquires of unknown outcome: when called, and from when on what they got can be over."""
    expire = dense_sessions(table) is not NO_SESSIONS
    for row in holds.maybe.tolist():
        if expire:
            yield int(table.call[row]), MISSING
            continue
        own = np.flatnonzero((table.process[row:] == table.process[row]) & releases[row:])
        yield int(table.call[row]), int(table.call[row + own[0]]) if len(own) else NEVER


def _refuse(
    table: OperationTable,
    operations: tuple[Flags, Flags],
    row: int,
    free: tuple[Ints, Ints],
    gap: int,
    *,
    exact: bool,
) -> Decision:
    """The try, and of every other process what shows that it did not hold the mutex then.

    That is its last release before, and its next acquire: what it did before the one and after
    the other cannot be moved to the time of the try, for it keeps its order.
    """
    acquires, releases = operations
    low, high = int(table.call[row]), int(table.returned[row])
    acts = np.flatnonzero(acquires | releases)
    early = acts[(table.returned[acts] < low) & (table.outcome[acts] == OK)]
    late = acts[(table.call[acts] > high) & acquires[acts]]
    witness = {row}
    # Of equal processes the last row in order stays.
    last = dict(zip(table.process[early].tolist(), early.tolist(), strict=True))
    witness |= {at_ for at_ in last.values() if releases[at_]}
    late = late[table.process[late] != table.process[row]]
    witness |= set(
        dict(zip(table.process[late[::-1]].tolist(), late[::-1].tolist(), strict=True)).values()
    )
    before, after = int(free[0][gap]), int(free[1][gap])
    since = "from the beginning" if before == MISSING else f"from {at(table, before, low)}"
    until = "to the end" if after == NEVER else f"to {at(table, after, high)}"
    return refused(
        sorted(witness),
        f"{who(table, row)}'s {table.function(row)} was refused {between(table, low, high)}, and "
        f"nobody can have held it {since} {until}",
        minimal=exact,
    )
