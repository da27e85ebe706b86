"""Everything about a run that can be drawn, sorted into lanes."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from checker.exercise import FaultWindow, fault_windows
from checker.history import History, Op, Operation
from checker.verdict import Anomaly, Interval, Verdict
from results.client_states import state_intervals
from results.operation_statistics import latency_ms
from results.wording import milliseconds

ROWS = {"session": "session", "operation": "operations", "belief": "believes", "grant": "owns"}
"""Rows of a client, from top to bottom, with their labels."""

OVERLAYS = ("paused", "dead")
"""What the client's process suffers, drawn over all of its rows."""


class Span(NamedTuple):
    """Something on a lane, from ``start`` to ``end`` in nanoseconds; ``style`` is its class."""

    start: int
    end: int
    style: str
    title: str
    label: str = ""


class Lane:
    """Spans in order of their start, found by time in logarithmic time."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = sorted(spans)
        self._starts = [span.start for span in self._spans]
        self._latest_ends = list(accumulate((span.end for span in self._spans), max))

    def __len__(self) -> int:
        return len(self._spans)

    def between(self, start: int, end: int) -> list[Span]:
        """The spans that touch a stretch of time."""
        first = bisect_left(self._latest_ends, start)
        last = bisect_right(self._starts, end)
        return [span for span in self._spans[first:last] if span.end >= start]


@dataclass
class Scene:
    """A run laid out for drawing.

    Args:
        start: when the run began (its time 0), nanoseconds.
        end: when its last record was made.
        clients: numbers of the clients that were seen.
        rows: spans by client and row (``ROWS``, ``OVERLAYS``).
        leaders: which server led.
        faults: the nemesis's doings.
        anomalies: what the checkers found.
        acts: the witness's records.
    """

    start: int
    end: int
    clients: list[int]
    rows: dict[tuple[int, str], Lane]
    leaders: Lane
    faults: list[FaultWindow]
    anomalies: list[Anomaly]
    acts: list[Op] = field(default_factory=list)

    def row(self, client: int, name: str) -> Lane:
        """A client's row, empty if there is nothing on it."""
        return self.rows.get((client, name), _EMPTY)

    def acts_between(self, start: int, end: int) -> list[Op]:
        """The witness's records of a stretch of time."""
        first = bisect_left(self.acts, start, key=lambda op: op.time)
        return self.acts[first : bisect_right(self.acts, end, key=lambda op: op.time)]

    def seconds(self, time: int) -> str:
        """A time since the start of the run, to the millisecond."""
        return f"{(time - self.start) / 1e9:.3f} s"

    def fault_end(self, fault: FaultWindow) -> int:
        """When a fault was over: the end of the run where it was never healed."""
        return self.end if fault.ended is None else fault.ended


_EMPTY = Lane([])


def fault_label(fault: FaultWindow) -> str:
    """A fault's kind and targets."""
    return f"{fault.kind} {', '.join(fault.targets)}".strip()


def build_scene(history: History, operations: list[Operation], verdict: Verdict) -> Scene:
    """Lay a run out.

    Args:
        history: what happened.
        operations: its clients' operations.
        verdict: the checkers' findings, whose intervals are drawn.

    Raises:
        ValueError: the nemesis's records do not fit together.
    """
    spans: dict[tuple[int, str], list[Span]] = {}
    for client, span in _operation_spans(history, operations):
        spans.setdefault((client, "operation"), []).append(span)
    leaders: set[Span] = set()
    # Checkers may each bring the same interval; a set keeps one of them.
    drawn: dict[tuple[int, str], set[Span]] = {}
    found = [interval for check in verdict.checks for interval in check.intervals]
    kinds = {interval.kind for interval in found}
    found += [each for each in state_intervals(history) if each.kind not in kinds]
    for interval in found:
        span = _interval_span(interval, history.start)
        if interval.kind == "leader":
            leaders.add(span)
        elif interval.client is not None and (interval.kind in ROWS or interval.kind in OVERLAYS):
            drawn.setdefault((interval.client, interval.kind), set()).add(span)
    rows = {key: Lane(lane) for key, lane in (*spans.items(), *drawn.items())}
    return Scene(
        start=history.start,
        end=history.end,
        clients=sorted({client for client, _ in rows}),
        rows=rows,
        leaders=Lane(leaders),
        faults=fault_windows(history),
        anomalies=verdict.anomalies,
        acts=history.events("witness", "act"),
    )


def _operation_spans(history: History, operations: list[Operation]) -> Iterable[tuple[int, Span]]:
    """Each operation as a span of its client; an open one lasts until its client's next."""
    next_call: dict[int, int] = {}
    for operation in reversed(operations):
        call, done = operation
        client = history.client_of(int(call.process))
        end = done.time if done else next_call.get(client, history.end)
        next_call[client] = call.time
        result = done.type if done else "never returned"
        title = (
            f"client {client}, process {call.process}: {call.f} → {result}, "
            f"{milliseconds(latency_ms(operation))} "
            f"from {(call.time - history.start) / 1e9:.3f} s "
            f"(records {', '.join(map(str, operation.indices))})"
        )
        if done and done.error:
            title += f": {done.error[:200]}"
        yield client, Span(call.time, end, f"o-{operation.outcome}", title, call.f)


_STYLES = {"belief": "belief", "grant": "grant", "paused": "paused", "dead": "dead"}
_SESSIONS = ("connected", "suspended", "lost")
_WORDS = {"belief": "believes that it holds", "grant": "owns it on the server", "leader": "leads"}


def _interval_span(interval: Interval, origin: int) -> Span:
    who = "" if interval.client is None else f"client {interval.client} "
    what = _WORDS.get(interval.kind, interval.kind)
    length = milliseconds((interval.end - interval.start) / 1e6)
    title = f"{who}{what} {interval.label}".strip()
    title += f", {length} from {(interval.start - origin) / 1e9:.3f} s"
    style = _STYLES.get(interval.kind, interval.kind)
    label = interval.label
    if interval.kind == "session":
        style = f"s-{interval.label}" if interval.label in _SESSIONS else "s-other"
    elif interval.kind in OVERLAYS:
        label = interval.kind
    return Span(interval.start, interval.end, style, title, label)
