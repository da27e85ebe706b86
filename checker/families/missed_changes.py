"""Waiting for a change: no connected client goes on waiting long after the change was made."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.calm import connections
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

MISSED_EVENT = Kind("missed-event", "a watch was set and its node changed, but no event came")
FALSE_EVENT = Kind(
    "false-event", "a client waiting for a change was told of one that had not happened"
)


def written(done: Op) -> tuple[str, int] | None:
    """The change that an acknowledged operation has made: the key and version of a ``write``."""
    return (done.value["key"], done.value["version"]) if done.f == "write" else None


class _Write(NamedTuple):
    """An acknowledged change of a key to a version."""

    version: int
    done: Op


@check("missed changes", finds=[MISSED_EVENT, FALSE_EVENT])
def check_missed_changes(
    timeline: Timeline,
    bound_s: float | None = None,
    change: Callable[[Op], tuple[str, int] | None] = written,
) -> CheckResult:
    """Judge operations ``await`` {key, version}.

    An ``await`` waits until the key has another version than the given one. If it returned that
    same version, it reported a change that had not been made: ``false-event``.

    An ``await`` that timed out has missed a change if, for longer than the bound before it gave up,
    a change of its key to a later version had been acknowledged, its client ran and its
    connection did not change. The connection of a client to a server that has stalled
    or was cut off ends within the session's timeout, so the bound must be longer than that.

    Args:
        timeline: the run.
        bound_s: seconds.
        change: the key and version that an operation's ok has acknowledged; None: no change.

    Cost: O(n log n).
    """
    history = timeline.history
    seconds = 2 * timeline.session_timeout + 2.0 if bound_s is None else bound_s
    bound = int(seconds * 1e9)
    result = CheckResult(name="missed changes")
    writes = _writes(history, change)
    changes = connections(history, ends=("suspended", "lost", "started", "exited"))
    waits = 0
    told_keys: set[str] = set()
    for operation in history.operations():
        call, done = operation.invoke, operation.completion
        if call.f != "await" or done is None:
            continue
        waits += 1
        if done.type == "ok":
            told_keys.add(call.value["key"])
            if done.value.get("version") == call.value["version"]:
                result.anomalies.append(_false_event(history, operation))
        if done.type != "fail" or done.error != "timed out":
            continue
        client = history.caller(call)
        since = done.time - bound
        told = _first_told(writes.get(call.value["key"], []), call.value["version"])
        if told is None or told.done.time > since or call.time > since:
            continue
        if quiet(timeline, changes[client], client, since, done.time):
            result.anomalies.append(_missed_event(history, operation, told, seconds))
    result.stats = {"waits": waits, "keys_told": len(told_keys)}
    return result


def _writes(
    history: History, change: Callable[[Op], tuple[str, int] | None]
) -> dict[str, list[_Write]]:
    """Key -> its acknowledged changes, in order of versions."""
    writes: dict[str, list[_Write]] = {}
    for _, done in history.answered():
        made = change(done)
        if made is not None:
            key, version = made
            writes.setdefault(key, []).append(_Write(version, done))
    for known in writes.values():
        known.sort(key=lambda write: write.version)
    return writes


def _first_told(known: Sequence[_Write], version: int) -> _Write | None:
    """The change to a version later than this that was acknowledged first."""
    later = known[bisect_right(known, version, key=lambda write: write.version) :]
    return min(later, key=lambda write: write.done.time, default=None)


def quiet(
    timeline: Timeline, changes: Sequence[tuple[int, bool]], client: int, since: int, until: int
) -> bool:
    """Whether a client ran, and its connection did not change (``changes``), in a span of time."""
    unchanged = bisect_left(changes, (since,)) == bisect_left(changes, (until + 1,))
    frozen = timeline.pauses.get(client, [])
    return unchanged and all(end < since or start > until for start, end in frozen)


def _missed_event(history: History, operation: Operation, told: _Write, seconds: float) -> Anomaly:
    """An ``await`` that gave up so many seconds, or more, after the change had been told."""
    call, done = operation.invoke, operation.done
    client = history.caller(call)
    return Anomaly(
        kind="missed-event",
        description=(
            f"c{client} waited for a change of {call.value['key']} from version "
            f"{call.value['version']} and gave up, {(done.time - told.done.time) / 1e9:.1f} s "
            f"after version {told.version} had been acknowledged, although it had been "
            f"connected for the last {seconds:g} s"
        ),
        ops=[told.done.index, *operation.indices],
        clients=[client],
        start=told.done.time,
        end=done.time,
    )


def _false_event(history: History, operation: Operation) -> Anomaly:
    call = operation.invoke
    return anomaly_of(
        history,
        "false-event",
        f"c{history.caller(operation)} waited for a change of {call.value['key']} from version "
        f"{call.value['version']} and was told of one, although the version was still the same",
        operation,
    )
