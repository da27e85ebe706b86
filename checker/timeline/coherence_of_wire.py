"""Whether the history and the record of the wire fit together.

The links count what passes, and the history has their counts. So what is taken from the record of
the wire, or from the history, is missing from the other's point of view.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from rumpus.checker.history import History, Op, session_hex
from rumpus.checker.timeline.completeness_of_wire import Shares
from rumpus.checker.timeline.faults import fault_windows
from rumpus.checker.timeline.refused_writes import LastAnswers
from rumpus.checker.wire.records import Event, Handshake, Request, WireRecords

ESTABLISHED_NS = 1_000_000_000
"""A connection begun so long (ns) before its client lost one is not the next connection.

Curator tells of a lost connection on a thread of its own, which may be later than the next
handshake.
"""

STILL_SENDING_NS = 5_000_000_000
"""A client sends nothing any more, so long (ns) after it lost the connection.

What it sent before may wait in the host's buffers while the links' process is late.
"""

SETTLED_NS = 1_000_000_000
"""A fault has no effect any more, and what passed was taken down, after so long (ns)."""

_BESIDE_LINKS = frozenset({"kill", "pause", "partition", "client-kill", "client-pause"})
"""Kinds of fault in which the links between clients and servers let everything pass."""

Sent = tuple[int, int, str, str]
"""A watch event: client, the number of its connection, what, path."""

_LOSSES = ("suspended", "lost", "closed")
_COUNTS = (("recorded", "handshakes and requests"), ("events", "watch events"))
"""Fields of a count, and what they count."""


class Passed:
    """What passed on the links, by both parts of the record.

    Args:
        history: all of its records.
        wire: what the links recorded.

    Attributes:
        counted: client -> the values of the records in which its passages were counted.
        before: client -> handshakes and requests, and events, that had passed before the count.
        until: the same, with those in the very nanosecond of the count.
        events: (client, connection, what, path) -> watch events that servers sent.
        spans: when links certainly let everything pass.
        arrived: number of a span, and event as above -> events that were sent in it.
        began: (client, session in hexadecimal) -> connection -> when it was granted there.
        wanted: session (hexadecimal) -> the timeouts (ms) that were asked for with it.
        latest: (client, connection) -> when the last request was sent that was answered.
        shares: what passed on each connection, and of each kind.
        answers: which requests were writes that a server refused.
    """

    def __init__(self, history: History, wire: WireRecords) -> None:
        self.history = history
        self.counted: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for op in history.events("link", "wire"):
            self.counted[op.value["client"]].append(op.value)
        self.before: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.until: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.events: Counter[Sent] = Counter()
        self.began: defaultdict[tuple[int, str], dict[int, int]] = defaultdict(dict)
        self.wanted: defaultdict[str, set[int]] = defaultdict(set)
        self.latest: Counter[tuple[int, int]] = Counter()
        self.shares = Shares(history)
        self.answers = LastAnswers()
        self.spans = _Spans(history)
        self.arrived: Counter[tuple[int, Sent]] = Counter()
        ends = {client: values[0].get("until") for client, values in self.counted.items()}
        for record in wire:
            self.shares.add(record)
            side = int(isinstance(record, Event))
            end = ends.get(record.client)
            if end is not None and record.sent <= end:
                self.until[side][record.client] += 1
                self.before[side][record.client] += record.sent < end
            if isinstance(record, Event):
                event = record.client, record.connection, record.what, record.path
                self.events[event] += 1
                if (span := self.spans.of(record.sent)) is not None:
                    self.arrived[span, event] += 1
            elif isinstance(record, Handshake):
                self._greeted(record)
            else:
                self.answers.add(record)
                self._answered(record)

    def _greeted(self, shake: Handshake) -> None:
        if shake.session and shake.answered is not None:
            session = session_hex(shake.session)
            self.began[shake.client, session][shake.connection] = shake.answered
            self.wanted[session].add(shake.wanted)

    def _answered(self, request: Request) -> None:
        if request.answered is not None:
            place = request.client, request.connection
            self.latest[place] = max(self.latest[place], request.sent)


class _Spans:
    """When no fault is in force in which links lose something, or hold it back.

    Then all that servers send passes the links, and is taken down. What comes at the run's end may
    not be taken down any more.
    """

    def __init__(self, history: History) -> None:
        ended = max((op.time for op in history.events("control", "phase-end")), default=0)
        self._spans: list[tuple[int, int]] = []
        since = 0
        for window in fault_windows(history):
            if window.kind not in _BESIDE_LINKS:
                self._spans.append((since, min(window.begun, ended - SETTLED_NS)))
                over = ended if window.ended is None else window.ended
                since = max(since, over + SETTLED_NS)
        self._spans.append((since, ended - SETTLED_NS))
        self._spans = [(begun, over) for begun, over in self._spans if begun < over]
        self._begins = [begun for begun, _ in self._spans]

    def of(self, time: int, late: int = 0) -> int | None:
        """The number of the span that has a time (ns), or had one ``late`` ns before it."""
        place = bisect_right(self._begins, time) - 1
        return place if place >= 0 and time < self._spans[place][1] + late else None


def missing_on_the_wire(passed: Passed, *, kazoo: bool | None) -> Iterator[str]:
    """Of each client there is exactly what the links counted at the run's end, once.

    Args:
        passed: what passed.
        kazoo: how clients number their requests (`Shares.lacking`).
    """
    clients = passed.history.clients
    counted = passed.counted
    if not passed.history.truncated:
        for client in range(clients + 1):
            if len(counted.get(client, ())) != 1:
                who = _who(client, clients)
                yield f"what passed on the links of {who} was not counted, or not once"
    for client, (value, *_) in counted.items():
        if value.get("events") is None or value.get("until") is None:
            yield f"of what passed on the links of {_who(client, clients)}, not all was counted"
            continue
        for side, (field, what) in enumerate(_COUNTS):
            number, there = value[field], passed.until[side][client]
            if not passed.before[side][client] <= number <= there:
                yield (
                    f"{number} {what} of {_who(client, clients)} had passed on its links, and "
                    f"{there} are recorded"
                )
    if not passed.history.truncated:
        yield from passed.shares.lacking(kazoo=kazoo)


def contrary_on_the_wire(
    passed: Passed, session_timeout: float | None, *, plain: bool
) -> Iterator[str]:
    """What the history, or the run's description, says and the wire denies.

    Args:
        passed: what passed.
        session_timeout: what clients asked for, in seconds; None: it is not known.
        plain: whether operations only pass requests to the servers.
    """
    if plain:
        yield from passed.answers.denied(passed.history)
    yield from _unsent_watch_events(passed)
    yield from _untold_watch_events(passed)
    if session_timeout is not None:
        yield from _unwanted_timeout(passed, session_timeout)
    yield from _living_connections(passed)


def _unsent_watch_events(passed: Passed) -> Iterator[str]:
    """No more watch events reached a client than servers sent on that connection."""
    reached = Counter(event for _, event in _watched(passed))
    for event, times in reached.items():
        if times > passed.events[event]:
            client, connection, what, path = event
            yield (
                f"{times} watch events ({what} {path}) reached c{client} on its connection "
                f"{connection}, but servers sent {passed.events[event]}"
            )
            return


def _untold_watch_events(passed: Passed) -> Iterator[str]:
    """What servers sent while no fault was in the way has reached its client."""
    reached = Counter(
        (passed.spans.of(time, SETTLED_NS), event) for time, event in _watched(passed)
    )
    for (span, event), times in passed.arrived.items():
        client, connection, what, path = event
        if client < passed.history.clients and times > reached[span, event]:
            yield (
                f"servers sent {times} watch events ({what} {path}) to c{client} on its connection "
                f"{connection} while no fault was in the way, but the history has "
                f"{reached[span, event]}"
            )
            return


def _watched(passed: Passed) -> Iterator[tuple[int, Sent]]:
    """The watch events that reached clients by the history, and when."""
    for op in passed.history.events("link", "watch"):
        each = op.value
        yield op.time, (each["client"], each["connection"], each["event"], each["path"])


def _unwanted_timeout(passed: Passed, session_timeout: float) -> Iterator[str]:
    """A client asks for the run's session timeout; not in all sessions, since it may make others.

    Sessions that the program makes itself, with other timeouts, are not among those recorded.
    """
    wanted: set[int] = set()
    for op in passed.history.events("session", "connected"):
        wanted |= passed.wanted.get(op.value.get("session"), set())
    if wanted and not any(abs(each - 1000 * session_timeout) <= 1 for each in wanted):
        asked = ", ".join(f"{each / 1000:g}" for each in sorted(wanted))
        yield (
            f"the run's session timeout was {session_timeout:g} s, but clients asked for {asked} s"
        )


def _living_connections(passed: Passed) -> Iterator[str]:
    """A connection that a client has lost carries none of its requests long after."""
    for op in passed.history.events("session"):
        if op.f not in _LOSSES:
            continue
        client, session = op.value["client"], op.value.get("session")
        for connection, began in passed.began.get((client, session), {}).items():
            latest = passed.latest[client, connection]
            if began + ESTABLISHED_NS < op.time and op.time + STILL_SENDING_NS < latest:
                yield _alive(op, connection, latest)
                return


def _alive(op: Op, connection: int, latest: int) -> str:
    return (
        f"record {op.index}: c{op.value['client']} lost its connection, but {connection}, which it "
        f"had, carried its requests for {(latest - op.time) / 1e9:.1f} s more"
    )


def _who(client: int, clients: int) -> str:
    return f"c{client}" if client < clients else "the auditor"
