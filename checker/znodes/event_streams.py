"""Whether clients that follow all changes were told of each: once, in order, and of nothing else.

A stream of events begins at a revision. Every write from that revision on is due in it. When a
client asks for what has come, every write that had been acknowledged before is due by then.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.families.missed_changes import FALSE_EVENT, MISSED_EVENT
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.znodes.watch_delivery import REORDERED_EVENT, REPEATED_EVENT


class FollowedEvents(TypedDict):
    """A part of a stream: which, from which revision on, and the events that came.

    An event is a revision, a key, its new version and value.
    """

    session: str
    since: int
    events: list[tuple[int, str, int, str]]


class _Write(NamedTuple):
    """A write that was acknowledged, when (nanoseconds), at which revision."""

    time: int
    revision: int
    operation: Operation


@dataclass
class _Stream:
    """What is known of a stream so far.

    ``told``: revision and key of each event. ``due``: how many of the writes have been looked at.
    ``latest``: the highest revision. ``versions``: key -> the version in its last event.
    """

    told: set[tuple[int, str]] = field(default_factory=set)
    due: int = 0
    latest: int = 0
    versions: dict[str, int] = field(default_factory=dict)


@check("event streams", finds=[MISSED_EVENT, FALSE_EVENT, REPEATED_EVENT, REORDERED_EVENT])
def check_event_streams(timeline: Timeline, *, follow: str, write: str) -> CheckResult | None:
    """Judge the streams by the acknowledged writes.

    Anomalies: ``missed-event``, a write that was acknowledged before the client asked had not come,
    or a version of a key was left out; ``repeated-event``; ``reordered-event``, it came after one
    of a later revision; ``false-event``, nobody has written that value.

    Args:
        timeline: the run.
        follow: the operation whose ok has a ``FollowedEvents``.
        write: the operation {key, value} whose ok has {key, version, zxid}: the revision.

    Cost: O(n log n), and each stream looks at each write.
    """
    if not timeline.foreign:
        return None  # ZooKeeper has watches in place of streams
    history = timeline.history
    result = CheckResult(name="event streams")
    operations = history.operations()
    writes: list[_Write] = []
    asked: set[tuple[str, str]] = set()
    follows: dict[tuple[int, str], list[Operation]] = defaultdict(list)
    for operation in operations:
        call, done = operation
        if call.f == write:
            asked.add((call.value["key"], call.value["value"]))
            if done is not None and done.type == "ok":
                writes.append(_Write(done.time, done.value["zxid"], operation))
        elif call.f == follow and done is not None and done.type == "ok":
            follows[history.caller(operation), done.value["session"]].append(operation)
    writes.sort()
    events = 0
    for own in follows.values():
        stream = _Stream()
        for operation in own:
            value: FollowedEvents = operation.done.value
            events += len(value["events"])
            result.anomalies += _arrived(history, stream, operation, value, asked)
            result.anomalies += _missed(history, stream, operation, value["since"], writes)
    result.stats = {"streams": len(follows), "events": events}
    return result


def _arrived(
    history: History,
    stream: _Stream,
    operation: Operation,
    value: FollowedEvents,
    asked: set[tuple[str, str]],
) -> Iterator[Anomaly]:
    """What is wrong with the events that came."""
    for revision, key, version, text in value["events"]:
        kind, words = "", ""
        before = stream.versions.get(key)
        if (revision, key) in stream.told:
            kind, words = "repeated-event", "came again"
        elif revision < stream.latest:
            kind, words = "reordered-event", f"came after that of revision {stream.latest}"
        elif (key, text) not in asked:
            kind, words = "false-event", f"has the value {text!r}, which nobody has written"
        elif before is not None and version != before + 1:
            kind, words = "missed-event", f"came next after that of version {before}"
        stream.told.add((revision, key))
        stream.latest = max(stream.latest, revision)
        stream.versions[key] = max(version, before or 0)
        if kind:
            yield anomaly_of(
                history,
                kind,
                f"c{history.caller(operation)} follows all changes since revision "
                f"{value['since']}: the event of revision {revision} ({key}, version {version}) "
                f"{words}",
                operation,
            )


def _missed(
    history: History,
    stream: _Stream,
    operation: Operation,
    since: int,
    writes: Sequence[_Write],
) -> Iterator[Anomaly]:
    """Writes that had been acknowledged before the call, and whose events have not come."""
    while stream.due < len(writes) and writes[stream.due].time < operation.invoke.time:
        write = writes[stream.due]
        stream.due += 1
        key = write.operation.invoke.value["key"]
        if write.revision < since or (write.revision, key) in stream.told:
            continue
        yield anomaly_of(
            history,
            "missed-event",
            f"c{history.caller(operation)} follows all changes since revision {since}, and asked "
            f"at {at(history, operation.invoke.time)} for those so far: that of revision "
            f"{write.revision} ({key}), acknowledged at {at(history, write.time)}, did not come",
            write.operation,
            operation,
        )
