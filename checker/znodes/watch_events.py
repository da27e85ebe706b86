"""Whether watch events come after their changes and before the data, in order, and once each.

**Decided**, for each session separately:

- the event arrives after the read that sets the watch, and before the return of any operation
  that shows that the session has seen the znode's next write (a read, an own write, a sync);
- the zxids of events, where they are recorded, increase; events without them have no order: after a
  reconnection a server sends what the client has missed by its list of watches, not by zxid;
- an event uses up all watches of its znode that are set: each event needs a watch of its own,
  whose read was called before the event arrived and returned after the event before it;
- the znode had changed since that read, and unseen by the session: a write of it, later in the
  order of zxids than all that had been seen, was called before the event arrived, and the event's
  zxid, where it is recorded, is that of the first such write.

Events are recorded when they arrive on the network. In a client library a reply may overtake
them on their way through the queue of callbacks, and that would violate no guarantee of
ZooKeeper's. After a reconnection the client sets its watches anew and misses no event; a new
session has none.

Uncertain cases are not refused. An event during the read that set a watch counts for that watch
and for an earlier one, and events and watches of unknown outcome may have happened. A write of
unknown outcome may be the change that any event announces. If no operations of a session overlap,
and all writes' outcomes are known, the decision is exact, but for the order of events without
zxids.

**Algorithm.** One pass over calls and returns in order of time. Watches wait in a heap, ordered by
the zxid of their znode's next write, so that an operation finds the watches whose data it has
seen. Each event is matched with the watch that returned first among those that fit (greedy
matching of intervals).

**Cost**: O(n log n).
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import accumulate

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.operation_table import NEVER
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.znodes.session_order import NextWrites, Synced, View, views_of
from rumpus.checker.znodes.znode_operations import NOTHING, Sight, ZnodeOperations


def check_watch_events(operations: ZnodeOperations) -> Decision | None:
    """A refusal if an event came late, out of order or without a watch; None if none did."""
    if not operations.watches and not operations.events:
        return None
    sessions = operations.session
    watches: dict[Hashable, list[int]] = defaultdict(list)
    events: dict[Hashable, list[tuple[int, int | None]]] = defaultdict(list)
    for row in operations.watches:
        watches[sessions[row]].append(row)
    for event in operations.events:
        events[sessions[event[0]]].append(event)
    # An event or a watch whose session is unknown may belong to any session.
    anyone = {operations.key[row] for row, _ in events.pop(None, [])}
    anyones = {operations.key[row] for row in watches.pop(None, [])}
    next_writes = NextWrites(operations)
    views = views_of(operations)
    changes = _Changes(operations, next_writes)
    for session in {**watches, **events}:
        changes.of_session(views[session])
        own = sorted(events[session], key=lambda event: operations.call[event[0]])
        decision = _out_of_order(operations, own) or _too_many(
            operations, own, watches[session], anyones, changes, views[session]
        )
        if decision is None and watches[session]:
            left = {row for row in watches[session] if operations.key[row] not in anyone}
            rows = [row for row, _ in own]
            decision = _too_late(operations, next_writes, views[session], left, rows)
        if decision:
            return decision
    return None


class _Changes:
    """What may have changed a znode by some time, unseen by a session."""

    def __init__(self, operations: ZnodeOperations, next_writes: NextWrites) -> None:
        self._operations = operations
        self._next_writes = next_writes
        self._read = {sight.row: sight.zxid for sight in operations.reads}
        self._unknown: dict[Hashable, int] = {}
        for write in operations.unknown:
            earliest = self._unknown.get(write.key, write.call)
            self._unknown[write.key] = min(earliest, write.call)
        created = operations.table.is_f("create")
        self._created = {each.key for each in operations.writes if created[each.row]}
        self.of_session([])

    def of_session(self, views: list[View]) -> None:
        """Go on with a session that has seen this."""
        returned = self._operations.returned
        seen = sorted((returned[view.row], view.zxid) for view in views)
        self._times = [time for time, _ in seen]
        self._furthest = list(accumulate((zxid for _, zxid in seen), max))

    def possible(self, watch: int, event: int, zxid: int | None) -> bool:
        """Whether a watch may have sent an event, of a change with some zxid if it is known."""
        read = self._read.get(watch, NOTHING)
        key, arrived = self._operations.key[watch], self._operations.returned[event]
        place = bisect_left(self._times, self._operations.call[event])
        seen = max(read, self._furthest[place - 1] if place else NOTHING)
        if zxid is not None and zxid <= seen:
            return False
        if self._unknown.get(key, NEVER) <= arrived:
            return True
        first = self._next_writes.after(key, read)
        if zxid is not None and self._knows(watch) and (first is None or zxid != first.zxid):
            return False
        later = self._next_writes.after(key, seen)
        # It may have been created before the history, which this session had not seen.
        early = later is None or zxid is None or zxid < later.zxid
        if early and read == NOTHING and key not in self._created:
            return True
        if later is None:
            return False
        # What a read alone shows was written before the history.
        return later.kind == "read" or self._operations.call[later.row] <= arrived

    def _knows(self, watch: int) -> bool:
        """Whether the change that uses up a watch is one of those that are known."""
        key = self._operations.key[watch]
        if watch not in self._read or key in self._unknown:
            return False
        return self._read[watch] != NOTHING or key in self._created


def _too_late(
    operations: ZnodeOperations,
    next_writes: NextWrites,
    views: list[View],
    watches: set[int],
    events: list[int],
) -> Decision | None:
    """A refusal if a session saw a change before the event that announces it."""
    call, returned, key = operations.call, operations.returned, operations.key
    # At one moment events come before returns: ties are concurrent.
    moments = sorted(
        [(call[row], 0, number) for number, row in enumerate(events)]
        + [(returned[view.row], 1, number) for number, view in enumerate(views)]
    )
    waiting: list[tuple[int, int]] = []
    next_of: dict[int, Sight] = {}
    last_event: dict[Hashable, int] = {}
    for _, is_return, number in moments:
        if not is_return:
            row = events[number]
            last_event[key[row]] = max(returned[row], last_event.get(key[row], returned[row]))
            continue
        view = views[number]
        kept = []
        while waiting and waiting[0][0] <= view.zxid:
            zxid, watch = heappop(waiting)
            if key[watch] in last_event and last_event[key[watch]] >= call[watch]:
                continue
            if returned[watch] < call[view.row]:
                others = [row for row in events if key[row] == key[watch]]
                return _late(operations, watch, next_of[watch], view, others)
            kept.append((zxid, watch))
        for each in kept:
            heappush(waiting, each)
        if view.row in watches and (later := next_writes.after(key[view.row], view.zxid)):
            next_of[view.row] = later
            heappush(waiting, (later.zxid, view.row))
    return None


def _late(
    operations: ZnodeOperations, watch: int, later: Sight, view: View, events: list[int]
) -> Decision:
    table = operations.table
    left, seen = operations.returned[watch], operations.returned[view.row]
    node = "" if later.key is None else f" on {later.key!r}"
    because = [view.because.row] if isinstance(view, Synced) else []
    reached = {"read": "seen", "write": "written", "sync": "synced up to"}[view.kind]
    return refused(
        [watch, view.row, later.row, *because, *events],
        f"watch events: the session of {who(table, watch)} set a watch{node} by "
        f"{at(table, left, seen)} and had {reached} zxid {view.zxid} by {at(table, seen, left)}, "
        f"but no event of the change of zxid {later.zxid} had arrived",
    )


def _out_of_order(
    operations: ZnodeOperations, events: list[tuple[int, int | None]]
) -> Decision | None:
    """A refusal if the zxids of a session's events do not increase."""
    table, call, returned = operations.table, operations.call, operations.returned
    of_node: dict[tuple[Hashable, int], int] = {}
    known = [(row, zxid) for row, zxid in events if zxid is not None and returned[row] != NEVER]
    for row, zxid in known:
        other = of_node.setdefault((operations.key[row], zxid), row)
        if other != row:
            return refused(
                [other, row],
                f"watch events: the session of {who(table, row)} got the event of zxid {zxid} "
                f"twice, by {at(table, returned[other], returned[row])} and by "
                f"{at(table, returned[row], returned[other])}",
            )
    # At one moment calls come before returns: ties are concurrent.
    moments = sorted(
        [(call[row], 0, zxid, row) for row, zxid in known]
        + [(returned[row], 1, zxid, row) for row, zxid in known]
    )
    highest: tuple[int, int] | None = None
    for _, returning, zxid, row in moments:
        if returning:
            highest = max(highest or (zxid, row), (zxid, row))
        elif highest and highest[0] > zxid:
            other = highest[1]
            return refused(
                [other, row],
                f"watch events: the session of {who(table, row)} got the event of zxid "
                f"{highest[0]} by {at(table, returned[other], call[row])}, before that of zxid "
                f"{zxid} at {at(table, call[row], returned[other])}",
            )
    return None


def _too_many(
    operations: ZnodeOperations,
    events: list[tuple[int, int | None]],
    watches: list[int],
    anyones: set[Hashable],
    changes: _Changes,
    views: list[View],
) -> Decision | None:
    """A refusal if a session got more events of a znode than watches of it can have fired."""
    call, returned = operations.call, operations.returned
    left: dict[Hashable, list[int]] = defaultdict(list)
    arrived: dict[Hashable, list[tuple[int, int | None]]] = defaultdict(list)
    for row in sorted(watches, key=lambda row: call[row], reverse=True):
        left[operations.key[row]].append(row)
    for row, zxid in events:
        if returned[row] != NEVER and operations.key[row] not in anyones:
            arrived[operations.key[row]].append((row, zxid))
    for key, own in arrived.items():
        to_come = left[key]
        fitting: list[tuple[int, int]] = []
        before: int | None = None
        for row, zxid in own:
            while to_come and call[to_come[-1]] <= returned[row]:
                watch = to_come.pop()
                insort(fitting, (returned[watch], watch))
            if before is not None and returned[before] < call[row]:
                fitting = [each for each in fitting if each[0] >= call[before]]
            possible = (each for each in fitting if changes.possible(each[1], row, zxid))
            fired = next(possible, None)
            if fired is None:
                so_far = [each for each, _ in own if call[each] <= call[row]]
                other = any(changes.possible(each[1], row, None) for each in fitting)
                return _without_cause(
                    operations,
                    row,
                    so_far,
                    watches,
                    views if fitting else None,
                    zxid if other else None,
                )
            fitting.remove(fired)
            before = row
    return None


def _without_cause(
    operations: ZnodeOperations,
    row: int,
    events: list[int],
    watches: list[int],
    views: list[View] | None,
    zxid: int | None,
) -> Decision:
    """The refusal of an event without a cause.

    Args:
        operations: those of all sessions.
        row: the event.
        events: its session's events of the znode up to then.
        watches: the session's.
        views: what the session had seen; None: no watch had been set.
        zxid: the event's, if only that is wrong.
    """
    table, key = operations.table, operations.key[row]
    rows = events + [each for each in watches if operations.key[each] == key]
    why = "for which it had set no watch, or whose watch an earlier event had used up"
    if views is not None:
        rows += [each.row for each in operations.writes if each.key == key]
        rows += [view.row for view in views if operations.returned[view.row] < operations.call[row]]
        why = "but nobody had called a write of it by then that the session had not seen"
    if zxid is not None:
        why = f"of zxid {zxid}, but the next write of it had another"
    node = "" if key is None else f" on {key!r}"
    return refused(
        rows,
        f"watch events: the session of {who(table, row)} got an event{node} at "
        f"{at(table, operations.call[row])} {why}",
    )
