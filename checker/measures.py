"""What a run measured besides its verdict: spread, handovers, wake-ups and messages.

Measures do not affect the verdict. They show what a recipe costs and how evenly it serves its
clients, so that recipes can be compared and claims about them tested. The main operation of a
workload is ``Words.acquire``: ``acquire``, ``campaign``, ``dequeue`` ...
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from rumpus.checker.availability import Availability, availability
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.quantile import quantile
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.host import Host, measure_host
from rumpus.checker.timeline.timeline import Timeline

Cause = Literal["release", "death", "loss"]
"""What ended a hold.

``release``: the holder called release, and the release was acknowledged.
``death``: the holder's process was killed, or declared itself dead (``die``).
``loss``: the holder stopped believing that it held, because its session was in doubt.
"""

HEARTBEATS = "ping"
"""The kind of request that keeps a session alive: its number depends on time, not the recipe."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the main operation succeeded over the clients that called it, during the load.

    ``jain`` is Jain's fairness index (Jain, Chiu and Hawe 1984): the square of the sum of grants,
    divided by ``clients`` times the sum of their squares. It is 1 if all got equally many, and
    1 / ``clients`` if one got all; None if nobody got any. The final phase does not count: there
    every client gets one grant.
    """

    f: str
    clients: int
    grants: int
    least: int
    most: int
    jain: float | None


class Handovers(msgspec.Struct, frozen=True, kw_only=True):
    """How long a lock took to go from one holder to the next, in milliseconds.

    The time runs from the end of a hold, which is of kind ``after``: the call of the release, the
    end of the process, or the moment at which the holder stopped believing. It runs until the
    next holder's call returns. Only grants to a client that was already waiting when the hold
    ended count.
    """

    after: Cause
    count: int
    median: float
    p95: float
    longest: float


class Wakeups(msgspec.Struct, frozen=True, kw_only=True):
    """Watch events that reached clients while they waited in the main operation.

    ``per_grant`` divides ``events`` by the number of holds. That includes events caused by waiters
    that gave up or died. ``per_release`` counts only the clients that the end of a hold woke, each
    once (``checker.exclusion.herd``); None where that was not counted.
    """

    events: int
    per_grant: float | None
    per_release: float | None = None


class Messages(msgspec.Struct, frozen=True, kw_only=True):
    """Messages between clients and servers, over the whole run.

    Clients reach servers through proxies, the links. ``requests`` counts what these forwarded to
    servers, by kind, without handshakes; ``watch_events`` the watch events forwarded to clients.
    ``total`` is both, without heartbeats. ``per_operation`` is ``total`` divided by all operations
    that ended ok; ``per_grant`` is ``total`` divided by the main operations that did.
    """

    requests: dict[str, int]
    watch_events: int
    total: int
    per_operation: float | None
    per_grant: float | None


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """All measures of a run; None, or empty, where one makes no sense or was not recorded."""

    spread: Spread | None
    handovers: list[Handovers]
    wakeups: Wakeups | None
    messages: Messages | None
    availability: Availability | None = None
    host: Host | None = None


def measure(timeline: Timeline, *, per_release: float | None = None) -> Measures:
    """The measures of a run. O(n log n) in the number of records.

    Args:
        timeline: the run. Where its main operation gives nothing that keeps others waiting (a
            queue) there are no handovers and no wake-ups. ``Words.acquire`` is empty where there is
            no main operation.
        per_release: clients woken per release, as ``checker.exclusion.herd`` counts them.

    Raises:
        ValueError: calls and completions cannot be paired (see ``History.operations``).
    """
    history, words = timeline.history, timeline.words
    holds = timeline.holds if timeline.contended else None
    return Measures(
        spread=spread(history, words.acquire, holds),
        handovers=handovers(history, holds or ()),
        wakeups=None if holds is None else wakeups(history, words.acquire, len(holds), per_release),
        messages=messages(history, words.acquire, None if holds is None else len(holds)),
        availability=availability(timeline),
        host=measure_host(timeline.host),
    )


def spread(history: History, f: str, holds: Sequence[Hold] | None = None) -> Spread | None:
    """How evenly ``f`` succeeded; None if nobody called it during the load.

    Args:
        history: the run.
        f: the main operation.
        holds: counted instead of successful calls if given, so that a re-entrant acquire does
            not count as a grant.
    """
    final = final_phase(history)
    end = final.time if final is not None else history.end + 1
    grants: dict[int, int] = {}
    for operation in history.operations():
        if operation.invoke.f == f and operation.invoke.time < end:
            client = history.caller(operation)
            counts = holds is None and operation.outcome == "ok"
            grants[client] = grants.get(client, 0) + counts
    for hold in holds or ():
        if hold.called < end:
            grants[hold.client] += 1
    if not grants:
        return None
    total = sum(grants.values())
    squares = sum(number**2 for number in grants.values())
    return Spread(
        f=f,
        clients=len(grants),
        grants=total,
        least=min(grants.values()),
        most=max(grants.values()),
        jain=round(total**2 / (len(grants) * squares), 4) if squares else None,
    )


def handovers(history: History, holds: Sequence[Hold]) -> list[Handovers]:
    """Handovers by what ended the previous hold, in the order of ``Cause``.

    A handover starts at the end of a hold. If several holds (of readers) ended since the last
    exclusive grant, it starts at the last of these ends; but if some were not releases, at the
    last of those. If the cause of any of these ends is unknown, there is no handover.
    """
    lengths: dict[Cause, list[float]] = {"release": [], "death": [], "loss": []}
    events: list[tuple[int, int, Hold, Cause | None]] = []
    for hold, (time, cause) in zip(holds, _ends(history, holds), strict=True):
        events.append((hold.granted, 1, hold, None))
        if time is not None:
            events.append((time, 0, hold, cause))
    before: list[tuple[int, Cause | None]] = []
    for time, granted, hold, cause in sorted(events, key=lambda event: event[:2]):
        if not granted:
            before.append((time, cause))
            continue
        if before and all(cause is not None for _, cause in before):
            failures = [end for end in before if end[1] != "release"]
            start, why = (failures or before)[-1]
            if why is not None and hold.called < start:
                lengths[why].append((time - start) / 1e6)
        if not hold.shared:
            before = []
    return [_summary(cause, sorted(found)) for cause, found in lengths.items() if found]


def wakeups(history: History, f: str, holds: int, per_release: float | None = None) -> Wakeups:
    """Watch events that reached clients while their ``f`` was open, in all and per hold."""
    waiting = _Waiting(history, f)
    events = sum(waiting.at(op.value["client"], op.time) for op in history.events("link", "watch"))
    return Wakeups(events=events, per_grant=_share(events, holds), per_release=per_release)


def messages(history: History, f: str, grants: int | None = None) -> Messages | None:
    """Messages on the wire; None if they were not counted (run killed, or not made by rumpus).

    Args:
        history: the run.
        f: the main operation.
        grants: how often ``f`` succeeded; counted from the operations if not given.
    """
    counted = history.events("link", "requests")
    if not counted:
        return None
    requests: dict[str, int] = {}
    for op in counted:
        for kind, number in op.value["requests"].items():
            requests[kind] = requests.get(kind, 0) + number
    watch_events = len(history.events("link", "watch"))
    total = sum(requests.values()) - requests.get(HEARTBEATS, 0) + watch_events
    done = [operation for operation, _ in history.answered()]
    if grants is None:
        grants = sum(operation.invoke.f == f for operation in done)
    return Messages(
        requests=dict(sorted(requests.items())),
        watch_events=watch_events,
        total=total,
        per_operation=_share(total, len(done)),
        per_grant=_share(total, grants),
    )


def _ends(history: History, holds: Sequence[Hold]) -> Iterable[tuple[int | None, Cause | None]]:
    """When and why each hold ended. Time None: unknown, or it did not end. Cause None: unknown.

    A loss, a death or a release of unknown outcome does not count if an excluding hold had been
    granted before it: on the servers the hold had ended earlier.
    """
    deaths = _deaths(history)
    following: dict[int, int] = {}
    overtaken: list[int | None] = []
    for hold in reversed(holds):
        later = [t for shared, t in following.items() if not (hold.shared and shared)]
        overtaken.append(min(later, default=None))
        following[hold.shared] = hold.granted
    for hold, passed in zip(holds, reversed(overtaken), strict=True):
        if hold.released:
            yield hold.release_called, "release"
            continue
        if hold.release_called is not None:
            known = passed is None or hold.release_called < passed
            yield hold.release_called if known else None, None
            continue
        times = deaths.get(hold.client, [])
        place = bisect_right(times, hold.granted)
        died = times[place] if place < len(times) else None
        lost = hold.believed_until if hold.believed_until < history.end else None
        cause: Cause = "loss"
        if died is not None and (lost is None or died <= lost):
            lost, cause = died, "death"
        if lost is not None and (passed is None or lost < passed):
            yield lost, cause
        else:
            yield None, None


def _deaths(history: History) -> dict[int, list[int]]:
    """For each client, when its process was killed or declared itself dead, in order of time."""
    found: dict[int, list[int]] = {}
    for op in history.events("session", "exited"):
        killed: int = op.value.get("since", op.time)
        found.setdefault(op.value["client"], []).append(killed)
    for operation, _ in history.answered("die"):
        found.setdefault(history.caller(operation), []).append(operation.invoke.time)
    return {client: sorted(times) for client, times in found.items()}


class _Waiting:
    """When each client had an operation open; a query takes logarithmic time."""

    def __init__(self, history: History, f: str) -> None:
        self._called: dict[int, list[int]] = {}
        self._returned: dict[int, list[int]] = {}
        for call, done in history.operations():
            if call.f == f:
                client = history.caller(call)
                self._called.setdefault(client, []).append(call.time)
                self._returned.setdefault(client, []).append(_time(done, history.end))

    def at(self, client: int, time: int) -> bool:
        """Whether a client had the operation open at that time."""
        place = bisect_right(self._called.get(client, []), time) - 1
        return place >= 0 and time <= self._returned[client][place]


def _time(op: Op | None, otherwise: int) -> int:
    return otherwise if op is None else op.time


def _summary(after: Cause, ordered: Sequence[float]) -> Handovers:
    return Handovers(
        after=after,
        count=len(ordered),
        median=quantile(ordered, 0.5) or 0.0,
        p95=quantile(ordered, 0.95) or 0.0,
        longest=ordered[-1],
    )


def _share(total: int, number: int) -> float | None:
    return round(total / number, 3) if number else None
