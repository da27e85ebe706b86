"""When nothing disturbed a client: no fault, no pause, a leader, and a connection."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Sequence

from rumpus.checker.history import History
from rumpus.checker.timeline.faults import FaultWindow, fault_windows
from rumpus.checker.timeline.holds import pauses
from rumpus.checker.value_shapes import whole_number

Span = tuple[int, int]
"""From when to when, in nanoseconds on the run's clock."""


def leaderless(history: History) -> list[Span]:
    """The times in which the control process saw no leader."""
    found = []
    since: int | None = None
    for op in history.events("control", "leader"):
        if op.value["leader"] is None:
            since = op.time if since is None else since
        elif since is not None:
            found.append((since, op.time))
            since = None
    return found if since is None else [*found, (since, history.end)]


def disconnected(history: History) -> dict[int, list[Span]]:
    """Client -> when it was not connected, including the time before it first was."""
    found: dict[int, list[Span]] = defaultdict(list)
    down: dict[int, int] = {}
    for op in history.events("session"):
        client = op.value["client"]
        if op.f == "connected":
            since = down.pop(client, None if client in found else history.start)
            if since is not None:
                found[client].append((since, op.time))
        elif op.f in ("suspended", "lost", "exited", "closed"):
            down.setdefault(client, op.time)
    for client, since in down.items():
        found[client].append((since, history.end))
    return found


def connections(
    history: History, ends: Collection[str] = ("suspended", "lost", "exited", "closed")
) -> dict[int, list[tuple[int, bool]]]:
    """Client -> when its connection changed (ns), and whether it was connected from then on.

    ``ends``: the events of a session that end a connection. Of a client without any, the list is
    empty.
    """
    changes: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for op in history.events("session"):
        if op.f == "connected" or op.f in ends:
            changes[op.value["client"]].append((op.time, op.f == "connected"))
    return changes


def unbroken_since(changes: Sequence[tuple[int, bool]], time: int) -> int | None:
    """Since when a client that is connected at that time has been; None if it is not."""
    before = [change for change in changes if change[0] <= time]
    return before[-1][0] if before and before[-1][1] else None


def disturbances(
    history: History, faults: Sequence[FaultWindow] | None = None
) -> dict[int, list[Span]]:
    """Client -> when something was in its way (nanoseconds), in order and without overlap.

    Faults on the servers, the lack of a leader, faults on the client itself, its pauses, and the
    times in which it was not connected.
    """
    everybody = leaderless(history)
    spans: dict[int, list[Span]] = defaultdict(list)
    for window in fault_windows(history) if faults is None else faults:
        span = (window.begun, window.ended if window.ended is not None else history.end)
        if not window.kind.startswith("client-"):
            everybody.append(span)
            continue
        for target in window.targets:
            if target.startswith("c") and (client := whole_number(target[1:])) is not None:
                spans[client].append(span)
        if window.in_force is None:  # its targets are not known
            everybody.append(span)
    for client, frozen in pauses(history).items():
        spans[client] += frozen
    for client, down in disconnected(history).items():
        spans[client] += down
    # There may be many clients, of which nothing else is known: they share one list.
    common = merged(everybody)
    return {
        client: merged([*common, *spans[client]]) if client in spans else common
        for client in range(history.clients)
    }


def merged(spans: Sequence[Span]) -> list[Span]:
    """Spans in order, those that overlap joined; the others are the same objects."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span[0] <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span[1]))
        else:
            merged.append(span)
    return merged


def calm_time(spans: Sequence[Span], since: int, until: int) -> int:
    """How much time between two times no span touches."""
    first = bisect_left(spans, since, key=lambda span: span[1])
    last = bisect_right(spans, until, key=lambda span: span[0])
    calm = 0
    for start, end in [*spans[first:last], (until, until)]:
        calm += max(0, start - since)
        since = max(since, end)
    return calm


def longest_calm(spans: Sequence[Span], since: int, until: int) -> Span:
    """The longest stretch between two times that no span touches."""
    first = bisect_left(spans, since, key=lambda span: span[1])
    last = bisect_right(spans, until, key=lambda span: span[0])
    best = (since, since)
    for start, end in [*spans[first:last], (until, until)]:
        if start - since > best[1] - best[0]:
            best = (since, start)
        since = max(since, end)
    return best
