"""Whether each connection got every watch event that was due: once, in order, before the data.

"ZooKeeper Programmer's Guide, What ZooKeeper Guarantees about Watches". A read sets a watch as of
the server's last zxid in its reply. The servers' logs tell the first later transaction that
triggers it. The event of that transaction is due on the same connection, before any reply or event
that shows the connection a later state.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from rumpus.checker.check import check
from rumpus.checker.families.missed_changes import MISSED_EVENT
from rumpus.checker.history import Op
from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

REPEATED_EVENT = Kind("repeated-event", "one watch fired more than once")
LATE_EVENT = Kind("late-event", "a session saw a change before the event of its watch")
REORDERED_EVENT = Kind("reordered-event", "the events of two changes came in the wrong order")

Table = Literal["data", "children"]
"""Watches on a node itself (by getData and exists), and watches on its children."""


_TABLES: Mapping[str, tuple[Table, ...]] = {
    "child": ("children",),
    "deleted": ("data", "children"),
}
"""Event -> the tables whose watches it may trigger; any other event: only ``data``."""


class Firing(NamedTuple):
    """A transaction that triggers the watches of a table on a path, and the event that it sends."""

    zxid: int
    event: str


@dataclass
class Watch:
    """A watch: the record of the read that set it, and what triggers it (None: nothing does)."""

    left: Op
    firing: Firing | None


@dataclass
class Connection:
    """What is known of one connection so far.

    ``standing`` are the watches that are set. ``due`` are those whose event did not come although
    the record beside them shows a later state. ``last`` is the last event: zxid and record.
    """

    standing: dict[tuple[Table, str], Watch] = field(default_factory=dict)
    due: list[tuple[Table, str, Watch, Op]] = field(default_factory=list)
    last: tuple[int, Op] | None = None


@check("watch delivery", finds=[MISSED_EVENT, REPEATED_EVENT, LATE_EVENT, REORDERED_EVENT])
def check_watch_delivery(timeline: Timeline) -> CheckResult | None:
    """Compare the events that the links recorded with those due by the servers' logs.

    Anomalies: ``missed-event``, no event came although the connection was shown a later state;
    ``late-event``, it came after that; ``repeated-event``, an event for which no watch was set;
    ``reordered-event``, it came after the event of a later transaction. Nodes that an uncertain or
    forked transaction changed are not judged. Without the logs the result is unknown.

    Cost: O(n log n) if each connection has few watches at a time.
    """
    if timeline.foreign:
        return None  # no sessions, so no watches
    history, truth = timeline.history, timeline.truth
    result = CheckResult(name="watch delivery")
    records = [op for op in history if op.process == "link" and op.f in ("watch", "watch-left")]
    if truth is None or truth.reasons:
        result.unknown = list(truth.reasons) if truth else ["the servers' logs are not at hand"]
        return result
    if records and not any(op.f == "watch-left" for op in records):
        result.unknown = [
            "the history has watch events, but no records of the reads that set watches"
        ]
        return result
    firings = _firings(truth.committed)
    unclear = {path for txn in (*truth.forked, *truth.uncertain) for _, path, _ in _fired(txn)}
    connections: dict[tuple[int, int], Connection] = defaultdict(Connection)
    for op in records:
        value = op.value
        if value["path"] in unclear:
            continue
        connection = connections[value["client"], value["connection"]]
        if op.f == "watch-left":
            _note_due(connection, value["zxid"], op)
            _leave(connection, op, firings)
        else:
            _note_due(connection, value["shown"], op)
            result.anomalies += _arrive(connection, op)
    for connection in connections.values():
        result.anomalies += [_missed(*each) for each in connection.due]
    result.anomalies.sort(key=lambda anomaly: anomaly.start)
    result.stats = {
        "watches": sum(op.f == "watch-left" for op in records),
        "events": sum(op.f == "watch" for op in records),
    }
    return result


def _firings(txns: tuple[Txn, ...]) -> Mapping[tuple[Table, str], list[Firing]]:
    found: dict[tuple[Table, str], list[Firing]] = defaultdict(list)
    for txn in txns:
        for table, path, event in _fired(txn):
            found[table, path].append(Firing(txn.zxid, event))
    return found


def _fired(txn: Txn) -> Iterator[tuple[Table, str, str]]:
    """Which watches a transaction triggers: table, path, event."""
    for effect in txn.effects:
        path = effect.path or ""
        parent = path.rpartition("/")[0] or "/"
        match effect.name:
            case "create" | "create2" | "createContainer" | "createTTL":
                yield "data", path, "created"
                yield "children", parent, "child"
            case "setData" | "reconfig":
                yield "data", path, "changed"
            case "delete" | "deleteContainer":
                yield from _deleted(path)
            case "closeSession":
                for owned in effect.paths or ():
                    yield from _deleted(owned)


def _deleted(path: str) -> Iterator[tuple[Table, str, str]]:
    yield "data", path, "deleted"
    yield "children", path, "deleted"
    yield "children", path.rpartition("/")[0] or "/", "child"


def _leave(
    connection: Connection, op: Op, firings: Mapping[tuple[Table, str], list[Firing]]
) -> None:
    """Note the watch that a read has set; one that was set already stays as it is."""
    table: Table = "children" if op.value["kind"] == "children" else "data"
    place = (table, op.value["path"])
    if place in connection.standing:
        return
    own = firings.get(place, [])
    at = bisect_right(own, op.value["zxid"], key=lambda firing: firing.zxid)
    connection.standing[place] = Watch(op, own[at] if at < len(own) else None)


def _note_due(connection: Connection, shown: int, by: Op) -> None:
    """The connection was shown the state up to a zxid: events up to there should have come."""
    for (table, path), watch in list(connection.standing.items()):
        if watch.firing is not None and watch.firing.zxid <= shown:
            del connection.standing[table, path]
            connection.due.append((table, path, watch, by))


def _arrive(connection: Connection, op: Op) -> Iterator[Anomaly]:
    """Match an event that has come with its watch; what is wrong with it."""
    path, event = op.value["path"], op.value["event"]
    tables = _TABLES.get(event, ("data",))
    matched: list[Watch] = []
    for table in tables:
        watch = connection.standing.get((table, path))
        if watch is not None and watch.firing is not None and watch.firing.event == event:
            matched.append(connection.standing.pop((table, path)))
    late = (
        []
        if matched
        else [
            each
            for each in connection.due
            if each[0] in tables and each[1] == path and _event(each[2]) == event
        ]
    )
    for each in late:
        connection.due.remove(each)
        yield _anomaly(
            "late-event",
            f"the event {event!r} of zxid {_zxid(each[2])} came after the connection was "
            f"shown zxid {_shown(each[3])}",
            op,
            each[2].left,
        )
        matched.append(each[2])
    if not matched:
        yield _anomaly(
            "repeated-event", f"an event {event!r} came for which no watch was set", op, None
        )
        return
    zxid = min(map(_zxid, matched))
    if connection.last is not None and connection.last[0] > zxid:
        yield _anomaly(
            "reordered-event",
            f"the event {event!r} of zxid {zxid} came after that of zxid {connection.last[0]}",
            op,
            connection.last[1],
        )
    else:
        connection.last = (zxid, op)


def _missed(table: Table, path: str, watch: Watch, by: Op) -> Anomaly:
    del table, path
    return _anomaly(
        "missed-event",
        f"the event {_event(watch)!r} of zxid {_zxid(watch)} never came, although the connection "
        f"was shown zxid {_shown(by)}",
        by,
        watch.left,
    )


def _zxid(watch: Watch) -> int:
    assert watch.firing is not None
    return watch.firing.zxid


def _event(watch: Watch) -> str:
    return watch.firing.event if watch.firing is not None else ""


def _shown(op: Op) -> Any:
    return op.value["zxid"] if op.f == "watch-left" else op.value["shown"]


def _anomaly(kind: str, words: str, op: Op, earlier: Op | None) -> Anomaly:
    client = op.value["client"]
    ops = [op.index] if earlier is None else [earlier.index, op.index]
    return Anomaly(
        kind=kind,
        description=f"c{client}, connection {op.value['connection']}, "
        f"{(earlier or op).value['path']}: {words}",
        ops=ops,
        clients=[client],
        start=op.time if earlier is None else earlier.time,
        end=op.time,
    )
