"""A violation told in a few lines: what its clients did and what befell them, in order of time."""

from collections.abc import Iterator

from rumpus.checker.every_run.exercise import fault_windows
from rumpus.checker.history import History, Op
from rumpus.checker.verdict import Anomaly, Verdict

BEFORE_NS = 3_000_000_000
"""How long before an anomaly the story begins with what befell its clients."""

MOST_LINES = 16

_SAID_OF_SESSIONS = {
    "suspended": "loses its connection",
    "lost": "learns that its session has ended",
    "connected": "is connected",
    "paused": "is frozen",
    "resumed": "runs again",
    "exited": "is killed",
    "started": "is started again",
    "believes": "believes that it holds",
    "doubts": "no longer believes that it holds",
    "closed": "closes its session",
}


def story(history: History, verdict: Verdict) -> list[str]:
    """What led to the first broken promise, or to the first hazard if none was broken.

    Returns:
        Lines, each with a time in seconds since the run began; the last one says what is wrong.
        Empty if there is no anomaly.
    """
    anomaly = next(iter(verdict.anomalies), None)
    return [] if anomaly is None else story_of(history, anomaly)


def story_of(history: History, anomaly: Anomaly) -> list[str]:
    """What led to an anomaly, in at most ``MOST_LINES`` lines and one that says what is wrong."""
    told = sorted(_events(history, anomaly), key=lambda event: event[0])
    lines = [f"{(time - history.start) / 1e9:9.3f} s  {words}" for time, words in told]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        left_out = f"{'':11}  ... {len(lines) - MOST_LINES} more"
        lines = [*lines[:half], left_out, *lines[-half:]]
    return [*lines, f"so: {anomaly.kind}: {anomaly.description}"]


def _events(history: History, anomaly: Anomaly) -> Iterator[tuple[int, str]]:
    """Time and words of what belongs to an anomaly."""
    since, until = anomaly.start - BEFORE_NS, max(anomaly.start, anomaly.end)
    cited = set(anomaly.ops)
    clients = set(anomaly.clients)
    for window in fault_windows(history):
        if (window.ended is None or window.ended >= since) and window.begun <= until:
            name = f"{window.kind} {', '.join(window.targets)}".strip()
            yield window.in_force or window.begun, f"fault: {name}"
            if window.ended is not None and window.ended <= until:
                yield window.ended, f"healed: {name}"
    for operation in history.operations():
        if cited.isdisjoint(operation.indices):
            continue
        call, done = operation
        who = f"c{history.caller(operation)}"
        yield call.time, f"{who} calls {call.f}{_value(call)}"
        if done is not None:
            error = f" ({done.error})" if done.error else ""
            yield done.time, f"{who} {call.f}: {done.type}{_value(done)}{error}"
    for op in history:
        if op.process == "session" and since <= op.time <= until:
            client = op.value.get("client")
            if client in clients and op.f in _SAID_OF_SESSIONS:
                yield op.time, f"c{client} {_SAID_OF_SESSIONS[op.f]}"
        elif op.process == "witness" and op.index in cited:
            yield op.time, f"c{op.value['client']} acts on the resource"


def _value(op: Op) -> str:
    """The value of a record, as short as it can be said."""
    if op.value is None:
        return ""
    if not isinstance(op.value, dict):
        return f" {op.value!r}"
    told = [f"{name}={value!r}" for name, value in op.value.items() if value is not None]
    return f" {', '.join(told)}" if told else ""
