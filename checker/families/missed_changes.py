"""Waiting for a change: no connected client goes on waiting long after the change was made."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

MISSED_EVENT = Kind("missed-event", "a watch was set and its node changed, but no event came")
FALSE_EVENT = Kind(
    "false-event", "a client waiting for a change was told of one that had not happened"
)


def written(done: Op) -> tuple[str, int] | None:
    """The change that an acknowledged operation has made: the key and version of a ``write``."""
    return (done.value["key"], done.value["version"]) if done.f == "write" else None


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
    writes: dict[str, list[tuple[int, int, Op]]] = {}
    for operation in history.operations():
        done = operation.completion
        if done is None or done.type != "ok":
            continue
        made = change(done)
        if made is not None:
            key, version = made
            writes.setdefault(key, []).append((version, done.time, done))
    for known in writes.values():
        known.sort(key=lambda write: write[0])
    changes: dict[int, list[int]] = {}
    for op in history.events("session"):
        if op.f in ("connected", "suspended", "lost", "started", "exited"):
            changes.setdefault(op.value["client"], []).append(op.time)
    frozen = timeline.pauses
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
        own = changes.get(client, [])
        quiet = bisect_left(own, since) == bisect_right(own, done.time)
        ran = all(end < since or start > done.time for start, end in frozen.get(client, []))
        known = writes.get(call.value["key"], [])
        later = known[bisect_right(known, call.value["version"], key=lambda write: write[0]) :]
        told = min((write for write in later), key=lambda write: write[1], default=None)
        if told is None or told[1] > since or call.time > since or not (quiet and ran):
            continue
        result.anomalies.append(
            Anomaly(
                kind="missed-event",
                description=(
                    f"c{client} waited for a change of {call.value['key']} from version "
                    f"{call.value['version']} and gave up, {(done.time - told[1]) / 1e9:.1f} s "
                    f"after version {told[0]} had been acknowledged, although it had been "
                    f"connected for the last {seconds:g} s"
                ),
                ops=[told[2].index, *operation.indices],
                clients=[client],
                start=told[1],
                end=done.time,
            )
        )
    result.stats = {"waits": waits, "keys_told": len(told_keys)}
    return result


def _false_event(history: History, operation: Operation) -> Anomaly:
    call = operation.invoke
    return anomaly_of(
        history,
        "false-event",
        f"c{history.caller(operation)} waited for a change of {call.value['key']} from version "
        f"{call.value['version']} and was told of one, although the version was still the same",
        operation,
    )
