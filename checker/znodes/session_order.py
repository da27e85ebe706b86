"""Whether no session sees the state go back.

**Decided**, for each session separately: whether its operations can be placed in the order of
transactions, each after the operations of the session that returned before it was called:

- a write at its own zxid (a write with a lower zxid than its session has seen contradicts the
  order of zxids already, which `checker.znodes.zxid_order` checks);
- a read at a state that holds what it read: at or after the zxid that it returned, and before the
  next write of the znode (**monotonic reads**, **read your writes**);
- a sync after every write, of any client, that was acknowledged before the sync was called.

ZooKeeper guarantees the last only on a live quorum, because a deposed leader that does not know of
its successor still answers a sync. So a sync is recorded as false if it is not known that a quorum
was alive during all of it.

**Algorithm.** Place each operation as early as possible: at the highest zxid of the operations
that returned before its call, or at its own zxid if that is higher. (Operations that returned
before one of those also returned before the call, so only the direct predecessors count.) Every
other placement is later, so a session has a placement if and only if this one is valid. It is
computed in one pass over calls and returns in order of time, with the highest zxid returned so far.

**Cost**: O(n log n) for sorting.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.znodes.znode_operations import NOTHING, Sight, ZnodeOperations


class NextWrites:
    """For each znode, the contents that writes and reads show, in order of zxid."""

    def __init__(self, operations: ZnodeOperations) -> None:
        found: dict[Hashable, dict[int, Sight]] = defaultdict(dict)
        for sight in (*operations.writes, *operations.reads):
            if sight.zxid != NOTHING:
                found[sight.key].setdefault(sight.zxid, sight)
        self._sights = {key: [own[z] for z in sorted(own)] for key, own in found.items()}
        self._zxids = {key: [s.zxid for s in own] for key, own in self._sights.items()}

    def after(self, key: Hashable, zxid: int) -> Sight | None:
        """The next content of a znode after a zxid; None if no operation shows one."""
        place = bisect_right(self._zxids.get(key, []), zxid)
        sights = self._sights.get(key, [])
        return sights[place] if place < len(sights) else None


class Synced(NamedTuple):
    """An acknowledged sync.

    Attributes:
        row: its row of the table.
        zxid: the highest zxid that had been acknowledged when it was called.
        because: the write with that zxid.
    """

    row: int
    zxid: int
    because: Sight

    @property
    def kind(self) -> str:
        """As the kind of a `Sight`."""
        return "sync"


View = Sight | Synced
"""Evidence that a session has seen the state up to a zxid at least."""


def check_session_order(operations: ZnodeOperations, *, syncs: bool = True) -> Decision | None:
    """A refusal if a session saw the state go back; None if none did.

    Args:
        operations: those of all sessions.
        syncs: whether to check syncs too.
    """
    views = views_of(operations, syncs=syncs)
    next_writes = NextWrites(operations)
    for own in views.values():
        if decision := _went_back(operations, next_writes, own):
            return decision
    return None


def views_of(operations: ZnodeOperations, *, syncs: bool = True) -> dict[Hashable, list[View]]:
    """Session -> the evidence of how far it saw, unordered; unknown sessions are left out."""
    views: dict[Hashable, list[View]] = defaultdict(list)
    for view in (*operations.writes, *operations.reads, *(_synced(operations) if syncs else ())):
        views[operations.session[view.row]].append(view)
    views.pop(None, None)
    return views


def _synced(operations: ZnodeOperations) -> list[Synced]:
    """Syncs with the highest zxid that had been acknowledged when they were called."""
    if not operations.syncs:
        return []
    returned = operations.returned
    writes = sorted(operations.writes, key=lambda write: returned[write.row])
    times = [returned[write.row] for write in writes]
    highest = list(accumulate(writes, partial(max, key=_zxid)))
    found = []
    for row in operations.syncs:
        place = bisect_left(times, operations.call[row])
        if place:
            write = highest[place - 1]
            found.append(Synced(row, write.zxid, write))
    return found


def _zxid(sight: Sight) -> int:
    return sight.zxid


def _went_back(
    operations: ZnodeOperations, next_writes: NextWrites, views: list[View]
) -> Decision | None:
    """A refusal if one session's operations cannot be placed."""
    call, returned = operations.call, operations.returned
    # At one moment calls come before returns: ties are concurrent.
    moments = sorted(
        [(call[view.row], 0, number) for number, view in enumerate(views)]
        + [(returned[view.row], 1, number) for number, view in enumerate(views)]
    )
    furthest: View | None = None
    for _, returning, number in moments:
        view = views[number]
        if returning:
            if furthest is None or view.zxid > furthest.zxid:
                furthest = view
        elif isinstance(view, Synced) or view.kind == "write" or furthest is None:
            continue
        elif view.zxid <= furthest.zxid:
            later = next_writes.after(view.key, view.zxid)
            if later is not None and later.zxid <= furthest.zxid:
                return _refused(operations, furthest, view, later)
    return None


def _refused(operations: ZnodeOperations, before: View, view: Sight, later: Sight) -> Decision:
    """The refusal of a read that saw an older state than ``before``: ``later`` replaced it."""
    table = operations.table
    call, returned = operations.call[view.row], operations.returned[before.row]
    rows = [before.row, view.row, later.row]
    by = at(table, returned, call)
    had = {
        "write": f"had written zxid {before.zxid} by {by}",
        "read": f"had seen zxid {before.zxid} by {by}",
        "sync": f"had synced by {by}, after zxid {before.zxid} was acknowledged",
    }[before.kind]
    of = "" if view.key is None else f" of {view.key!r}"
    promise = {"write": "read your writes", "read": "monotonic reads", "sync": "sync"}[before.kind]
    saw = "no node" if view.zxid == NOTHING else f"zxid {view.zxid}"
    then = (
        f"its read{of}, called at {at(table, call, returned)}, returned {saw}, older than zxid "
        f"{later.zxid}"
    )
    if isinstance(before, Synced):
        rows.append(before.because.row)
    return refused(
        rows,
        f"{promise}: the session of {who(table, view.row)} {had}, but {then}",
    )
