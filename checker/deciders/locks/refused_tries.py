"""Refused tries to acquire a mutex: each must overlap a hold.

**Decided**, exactly except in the case below: whether holds can be placed so that every refused try
overlaps one. The cores of holds (`checker.deciders.locks.holds_table`) give their order. Of two
adjacent holds the first can last until its release returned, and the second can begin when its
acquire was called, independently of all others (an acquire takes effect before the core, a release
after it). If the two meet, the lock is not certainly free at any time between. If not, the lock is
free in the gap between them, and a refused try inside it is a violation, unless an acquire of
unknown outcome took effect there. Such an acquire can be used for one gap, which must end after its
call (and its hold must be able to end: by its release, or with its session). So it is enough to
assign them to gaps in order of time.

Holds with an empty core also have a place in the order, unless several places are possible. In that
case a try is a violation only if no such hold can have overlapped it; otherwise the answer is
unknown.

**Cost**: O(n log n).
"""

from collections import defaultdict
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused, undecided
from rumpus.checker.deciders.locks.holds_table import (
    NO_SESSIONS,
    HoldsTable,
    LockRows,
    dense_sessions,
)
from rumpus.checker.deciders.operation_table import NEVER, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Flags, Ints
from rumpus.checker.deciders.wording import at, between, who


class _Spans(NamedTuple):
    """Holds in order: when each began and ended, at the earliest and at the latest.

    ``acquire`` and ``release`` are the rows that did it; -1 without a release.
    """

    called: Ints
    begun: Ints
    over: Ints
    returned: Ints
    acquire: Ints
    release: Ints

    def take(self, which: Ints | Flags) -> "_Spans":
        return _Spans(*(column[which] for column in self))

    def widest(self) -> "_Spans":
        """With the earliest begin and the latest end as the only ones."""
        return self._replace(begun=self.called, over=self.returned)

    def join(self, other: "_Spans") -> "_Spans":
        return _Spans(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class _Asked(NamedTuple):
    """The refused tries, in order, and what their own processes did before and after.

    A try overlaps a hold that begins or ends at the very time of its own end or begin, unless that
    is one of its own process, whose order is known.

    Attributes:
        call: when each was called.
        returned: when it was refused.
        acquire: the next row of its process that acquires; -1 if there is none.
        release: the last row of its process before that releases; -1 if there is none.
    """

    call: Ints
    returned: Ints
    acquire: Ints
    release: Ints

    def apart(self, free_from: Ints, free_until: Ints, sure: _Spans, gap: Ints) -> Flags:
        """Mask of the tries within their gap: after a hold and before the next one, in order."""
        nobody = np.full(1, -2)
        after = np.concatenate((sure.acquire, nobody))[gap] == self.acquire
        before = np.concatenate((nobody, sure.release))[gap] == self.release
        begins = (free_from < self.call) | (before & (free_from == self.call))
        apart: Flags = begins & (
            (self.returned < free_until) | (after & (free_until == self.returned))
        )
        return apart

    def near(self, spans: _Spans) -> Flags:
        """Mask of the tries that overlap a hold from its begin to its end."""
        begun = np.searchsorted(np.sort(spans.begun), self.returned, side="right")
        over = np.searchsorted(np.sort(spans.over), self.call, side="left")
        begins = dict(zip(spans.acquire.tolist(), spans.begun.tolist(), strict=True))
        ends = dict(zip(spans.release.tolist(), spans.over.tolist(), strict=True))
        own = [
            (begins.get(acquire) == returned) + (release >= 0 and ends.get(release) == call)
            for call, returned, acquire, release in zip(
                *(column.tolist() for column in self), strict=True
            )
        ]
        near: Flags = begun - over > np.array(own)
        return near


def _asked(table: OperationTable, lock_rows: LockRows) -> _Asked:
    tries = lock_rows.refused_tries
    acquire, release = np.full(len(tries), -1), np.full(len(tries), -1)
    place = {row: number for number, row in enumerate(tries.tolist())}
    waiting: dict[int, list[int]] = defaultdict(list)
    last: dict[int, int] = {}
    changes = lock_rows.acquires | lock_rows.releases
    changes[tries] = True
    for row in np.flatnonzero(changes).tolist():
        process = int(table.process[row])
        if row in place:
            waiting[process].append(place[row])
            release[place[row]] = last.get(process, -1)
        elif lock_rows.releases[row]:
            last[process] = row
        else:
            acquire[waiting.pop(process, [])] = row
    return _Asked(table.call[tries], table.returned[tries], acquire, release)


def decide_refused_tries(
    table: OperationTable, lock_rows: LockRows, holds: HoldsTable
) -> Decision | None:
    """The violation by refused tries of a mutex whose holds do not overlap; None if there is none.

    Args:
        table: the operations of one mutex.
        lock_rows: which of them acquire and release, and which tries were refused.
        holds: its holds.
    """
    tries = lock_rows.refused_tries
    if not len(tries):
        return None
    sure, floating = _in_order(table, holds)
    earliest = np.maximum(sure.called, np.concatenate(([MISSING], sure.over[:-1])))
    latest = np.minimum(sure.returned, np.concatenate((sure.begun[1:], [NEVER])))
    free_from = np.concatenate(([MISSING], latest))
    free_until = np.concatenate((earliest, [NEVER]))
    asked = _asked(table, lock_rows)
    returned = asked.returned
    gap = np.minimum(np.searchsorted(free_until, returned, side="left"), len(earliest))
    alone = asked.apart(free_from[gap], free_until[gap], sure, gap)
    past = ~alone & (gap < len(earliest)) & (returned >= free_until[gap])
    gap[past] = np.minimum(np.searchsorted(free_until, returned[past], side="right"), len(earliest))
    alone[past] = asked.apart(free_from[gap], free_until[gap], sure, gap)[past]
    uncertain = bool(holds.doubts) or len(floating.called) > 0
    if not alone.any() and not uncertain:
        return None
    lonely = np.flatnonzero(alone & ~asked.near(floating.widest()))
    own = np.isin(asked.acquire[lonely], holds.maybe)
    if bool((table.call[asked.acquire[lonely]][own] == returned[lonely][own]).any()):
        return undecided("a try was refused when its process called an acquire of unknown outcome")
    if uncertain:
        if bool(asked.near(sure).all()):
            # Each of them overlaps a core, wherever the other holds are placed.
            return None
        maybe = table.call[holds.maybe]
        lonely = lonely[returned[lonely] < (int(maybe.min()) if len(maybe) else NEVER)]
        if holds.doubts or not len(lonely):
            return undecided("it is not known which hold the refused tries found")
        place, helped = 0, False
    else:
        found, helped = _unserved(
            table, holds, lock_rows.releases, sure.begun, gap[lonely], returned[lonely]
        )
        if found is None:
            return None
        place = found
    at_gap = int(gap[lonely[place]])
    free = (int(free_from[at_gap]), int(free_until[at_gap]))
    among = tries if uncertain or helped else None
    return _refuse(table, lock_rows, holds, int(tries[lonely[place]]), free, among=among)


def _in_order(table: OperationTable, holds: HoldsTable) -> tuple[_Spans, _Spans]:
    """Holds with one possible place, in order; and those with several possible places."""
    until = np.where(holds.released, table.returned[holds.release], NEVER)
    spans = _Spans(
        table.call[holds.acquire], holds.start, holds.end, until, holds.acquire, holds.release
    )
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
            holds.cleanup_acquires,
            cleaned,
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
    """The windows of holds with an empty core, without the parts at their ends inside cores."""
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


def _unserved(
    table: OperationTable,
    holds: HoldsTable,
    releases: Flags,
    begun: Ints,
    gap: Ints,
    returned: Ints,
) -> tuple[int | None, bool]:
    """The first try without an acquire of unknown outcome for its gap; and whether any was used.

    Args:
        table: the operations.
        holds: its holds.
        releases: rows that release, or may have.
        begun: when each hold had begun at the latest, in order.
        gap: the gap in which each try lies, ascending.
        returned: when each try returned.
    """
    order = np.lexsort((returned, gap))
    gaps, at_ = np.unique(gap[order], return_index=True)
    needed = [(int(g), int(order[first])) for g, first in zip(gaps, at_, strict=True)]
    latest = np.concatenate((begun, [NEVER]))
    waiting = sorted(_available(table, holds, releases), reverse=True)
    ready: list[int] = []
    helped = False
    for number, place in needed:
        while waiting and waiting[-1][0] <= returned[place]:
            heappush(ready, waiting.pop()[1])
        if not ready or ready[0] > latest[number]:
            return place, helped or bool(ready)
        heappop(ready)
        helped = True
    return None, helped


def _available(
    table: OperationTable, holds: HoldsTable, releases: Flags
) -> Iterable[tuple[int, int]]:
    """Acquires of unknown outcome: the call, and from when on the hold can have ended."""
    expire = dense_sessions(table) is not NO_SESSIONS
    rows = np.flatnonzero(releases)
    last = dict(zip(table.process[rows].tolist(), rows.tolist(), strict=True))
    for row in holds.maybe.tolist():
        release = last.get(int(table.process[row]), -1)
        over = int(table.call[release]) if release > row else NEVER
        yield int(table.call[row]), MISSING if expire else over


def _refuse(
    table: OperationTable,
    lock_rows: LockRows,
    holds: HoldsTable,
    row: int,
    free: tuple[int, int],
    *,
    among: Ints | None = None,
) -> Decision:
    """The refusal: the try, and the rows that show for each process that it did not hold the mutex.

    Those are its last release before the try, and its next acquire: earlier and later holds of the
    process cannot be moved to the time of the try. If its last hold before was not released, it had
    ended when the next hold that was released began. If acquires of unknown outcome were used for
    several tries, or the places of holds are not certain, the witness has all operations.
    """
    acquires, releases, _ = lock_rows
    low, high = int(table.call[row]), int(table.returned[row])
    acts = np.flatnonzero(acquires | releases)
    witness = {row}
    beside = (table.call[acts] <= high) & (table.returned[acts] >= low)
    beside &= (table.outcome[acts] == OK) | (table.call[acts] >= low)
    cleaned = (table.call[holds.cleanup_acquires] < low) & (table.returned[holds.cleanups] >= low)
    if among is None and (beside.any() or cleaned.any()):
        among = np.array([row])
    minimal = among is None
    if among is not None:
        known = table.field("session").present & (table.outcome == OK)
        witness.update(acts.tolist(), among.tolist(), np.flatnonzero(known).tolist())
    else:
        early = acts[table.call[acts] < low]
        early = early[(table.returned[early] < low) | (table.outcome[early] != OK)]
        late = acts[(table.call[acts] > high) & acquires[acts]]
        late = late[table.process[late] != table.process[row]]  # its own come after it
        # Of equal processes the last one in order stays.
        last = dict(zip(table.process[early].tolist(), early.tolist(), strict=True))
        late = late[::-1]
        following = dict(zip(table.process[late].tolist(), late.tolist(), strict=True))
        witness.update(following.values())
        # A hold that is never released may contradict later ones by itself.
        final = dict(zip(table.process[acts].tolist(), acts.tolist(), strict=True))
        ends = dense_sessions(table) is not NO_SESSIONS
        minimal = ends or all(releases[final[process]] for process in following)
        for each in last.values():
            if releases[each] and table.outcome[each] == OK:
                witness.add(each)
            else:
                minimal = False
                witness.update(_over_by(table, holds, early, each, acquires))
    before, after = free
    since = "from the beginning" if before == MISSING else f"from {at(table, before, low)}"
    until = "to the end" if after == NEVER else f"to {at(table, after, high)}"
    return refused(
        sorted(witness),
        f"{who(table, row)}'s {table.function(row)} was refused {between(table, low, high)}, and "
        f"nobody can have held it {since} {until}",
        minimal=minimal,
    )


def _over_by(
    table: OperationTable, holds: HoldsTable, early: Ints, last: int, acquires: Flags
) -> list[int]:
    """Rows that show that a hold without a known release had ended: the next one released."""
    own = early[table.process[early] == table.process[last]]
    acquire = int(own[acquires[own]][-1]) if acquires[own].any() else last
    later = np.flatnonzero(holds.released & (holds.end >= table.returned[acquire]))
    if table.outcome[acquire] != OK or not len(later):
        return [int(each) for each in own[-2:]]
    following = later[int(np.argmin(holds.start[later]))]
    return [acquire, last, int(holds.acquire[following]), int(holds.release[following])]
