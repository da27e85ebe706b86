"""Everything about a run that can be drawn, sorted into lanes (rows along the time axis)."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, islice
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.states import Interval
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, Verdict
from rumpus.results.operation_statistics import latency_ms
from rumpus.results.wording import milliseconds

ROWS = {"session": "session", "operation": "operations", "belief": "believes", "grant": "owns"}
"""Rows of a client, from top to bottom, with their labels."""

OVERLAYS = ("paused", "dead")
"""States of a client's process that are drawn over all of the client's rows."""


Thing = TypeVar("Thing")
Key = tuple[int, int, str, int | None]


class Span(NamedTuple):
    """A bar on a lane, from ``start`` to ``end`` in nanoseconds; ``style`` is its CSS class.

    ``title`` makes its tooltip; it is a function because most spans are never shown one by one.
    """

    start: int
    end: int
    style: str
    title: Callable[[], str]
    label: str = ""


class Lane(Generic[Thing]):
    """Things in order of their start, which can be looked up by time, as spans.

    Args:
        things: what is on the lane.
        extent: a thing's start and end, in nanoseconds.
        span: makes the span of a thing; it is called only for things that are looked up.
    """

    def __init__(
        self,
        things: Iterable[Thing],
        extent: Callable[[Thing], tuple[int, int]],
        span: Callable[[Thing], Span],
    ) -> None:
        ordered = sorted(((*extent(thing), thing) for thing in things), key=itemgetter(0, 1))
        self._things = [thing for _, _, thing in ordered]
        self._starts = array("q", (start for start, _, _ in ordered))
        self._latest_ends = array("q", accumulate((end for _, end, _ in ordered), max))
        self._span = span

    def __len__(self) -> int:
        return len(self._things)

    def between(self, start: int, end: int) -> Iterator[Span]:
        """The spans that touch a stretch of time."""
        first = bisect_left(self._latest_ends, start)
        last = bisect_right(self._starts, end)
        spans = map(self._span, islice(self._things, first, last))
        return (span for span in spans if span.end >= start)


@dataclass
class Lanes:
    """A run laid out for drawing.

    Args:
        start: when the run began (its time 0), nanoseconds.
        end: when its last record was made.
        clients: numbers of the clients that were seen.
        rows: lanes by client and row (``ROWS``, ``OVERLAYS``).
        leaders: which server led.
        faults: the faults that the nemesis injected.
        anomalies: what the checkers found.
        acts: actions on the protected resource, as its witness recorded them, by client.
    """

    start: int
    end: int
    clients: list[int]
    rows: dict[tuple[int, str], "Lane[Any]"]
    leaders: "Lane[Interval]"
    faults: list[FaultWindow]
    anomalies: list[Anomaly]
    acts: dict[int, list[Op]] = field(default_factory=dict)

    def row(self, client: int, name: str) -> "Lane[Any]":
        """A client's row, empty if there is nothing on it."""
        return self.rows.get((client, name), _EMPTY)

    def acts_between(self, client: int, start: int, end: int) -> list[Op]:
        """A client's actions on the protected resource in a stretch of time."""
        acts = self.acts.get(client, [])
        first = bisect_left(acts, start, key=lambda op: op.time)
        return acts[first : bisect_right(acts, end, key=lambda op: op.time)]

    def seconds(self, time: int) -> str:
        """A time since the start of the run, to the millisecond."""
        return f"{(time - self.start) / 1e9:.3f} s"

    def fault_end(self, fault: FaultWindow) -> int:
        """When a fault was over: the end of the run where it was never healed."""
        return self.end if fault.ended is None else fault.ended


_EMPTY: Lane[Any] = Lane([], itemgetter(0, 1), itemgetter(0))


def fault_label(fault: FaultWindow) -> str:
    """A fault's kind and targets."""
    return f"{fault.kind} {', '.join(fault.targets)}".strip()


def lanes_of(timeline: Timeline, operations: list[Operation], verdict: Verdict) -> Lanes:
    """Sort what is known of a run into lanes.

    Args:
        timeline: the run.
        operations: its clients' operations.
        verdict: what the checks found.

    Raises:
        ValueError: the nemesis's starts and stops of faults do not pair.
    """
    history = timeline.history
    origin = history.start
    leaders: dict[Key, Interval] = {}
    drawn: dict[tuple[int, str], dict[Key, Interval]] = {}
    for interval in timeline.bars:
        key = interval.start, interval.end, interval.label, interval.token
        if interval.kind == "leader":
            leaders[key] = interval
        elif interval.client is not None and (interval.kind in ROWS or interval.kind in OVERLAYS):
            drawn.setdefault((interval.client, interval.kind), {})[key] = interval
    rows: dict[tuple[int, str], Lane[Any]] = {
        (client, "operation"): Lane(theirs, _lasted, partial(_operation_span, client, origin))
        for client, theirs in _operations_by_client(history, operations).items()
    }
    for (client, kind), intervals in drawn.items():
        rows[client, kind] = _intervals(intervals.values(), origin)
    return Lanes(
        start=history.start,
        end=history.end,
        clients=sorted({client for client, _ in rows}),
        rows=rows,
        leaders=_intervals(leaders.values(), origin),
        faults=timeline.faults,
        anomalies=verdict.anomalies,
        acts=_acts_by_client(history),
    )


def _acts_by_client(history: History) -> dict[int, list[Op]]:
    acts: dict[int, list[Op]] = {}
    for op in history.events("witness", "act"):
        acts.setdefault(op.value["client"], []).append(op)
    return acts


class _Lasting(NamedTuple):
    """An operation, and the time to which its bar reaches."""

    operation: Operation
    end: int


def _operations_by_client(
    history: History, operations: list[Operation]
) -> dict[int, list[_Lasting]]:
    """Each client's operations; one that never returned lasts until the client's next call."""
    next_call: dict[int, int] = {}
    found: dict[int, list[_Lasting]] = {}
    for operation in reversed(operations):
        call, done = operation
        client = history.caller(call)
        end = done.time if done else next_call.get(client, history.end)
        next_call[client] = call.time
        found.setdefault(client, []).append(_Lasting(operation, end))
    return found


def _lasted(lasting: _Lasting) -> tuple[int, int]:
    return lasting.operation.invoke.time, lasting.end


def _operation_span(client: int, origin: int, lasting: _Lasting) -> Span:
    operation, end = lasting
    call = operation.invoke
    title = partial(_operation_title, client, origin, operation)
    return Span(call.time, end, f"o-{operation.outcome}", title, call.f)


def _operation_title(client: int, origin: int, operation: Operation) -> str:
    call, done = operation
    title = (
        f"client {client}, process {call.process}: {call.f} → "
        f"{done.type if done else 'never returned'}, {milliseconds(latency_ms(operation))} "
        f"from {(call.time - origin) / 1e9:.3f} s "
        f"(records {', '.join(map(str, operation.indices))})"
    )
    return f"{title}: {done.error[:200]}" if done and done.error else title


_STYLES = {"belief": "belief", "grant": "grant", "paused": "paused", "dead": "dead"}
_SESSIONS = ("connected", "suspended", "lost")
_WORDS = {"belief": "believes that it holds", "grant": "owns it on the server", "leader": "leads"}


def _intervals(intervals: Iterable[Interval], origin: int) -> Lane[Interval]:
    return Lane(intervals, lambda each: (each.start, each.end), partial(_interval_span, origin))


def _interval_span(origin: int, interval: Interval) -> Span:
    label = _label(interval)
    style = _STYLES.get(interval.kind, interval.kind)
    if interval.kind == "session":
        style = f"s-{interval.label}" if interval.label in _SESSIONS else "s-other"
    title = partial(_interval_title, origin, interval, label)
    shown = interval.kind if interval.kind in OVERLAYS else label
    return Span(interval.start, interval.end, style, title, shown)


def _label(interval: Interval) -> str:
    if interval.token is not None:
        return f"token {interval.token}"
    return interval.label.rpartition("/")[2]  # of a znode's path, only the name


def _interval_title(origin: int, interval: Interval, label: str) -> str:
    who = "" if interval.client is None else f"client {interval.client} "
    what = _WORDS.get(interval.kind, interval.kind)
    length = milliseconds((interval.end - interval.start) / 1e6)
    title = f"{who}{what} {label}".strip()
    return f"{title}, {length} from {(interval.start - origin) / 1e9:.3f} s"
