"""Whether the history and the record of the wire fit together.

The links count what passes, and the history has their counts. So what is taken from the record of
the wire, or from the history, is missing from the other's point of view.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from rumpus.checker.history import History, Op, session_hex
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
        began: (client, session in hexadecimal) -> connection -> when it was granted there.
        wanted: session (hexadecimal) -> the timeouts (ms) that were asked for with it.
        latest: (client, connection) -> when the last request was sent that was answered.
    """

    def __init__(self, history: History, wire: WireRecords) -> None:
        self.history = history
        self.counted: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for op in history.events("link", "wire"):
            self.counted[op.value["client"]].append(op.value)
        self.before: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.until: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self.events: Counter[tuple[int, int, str, str]] = Counter()
        self.began: defaultdict[tuple[int, str], dict[int, int]] = defaultdict(dict)
        self.wanted: defaultdict[str, set[int]] = defaultdict(set)
        self.latest: Counter[tuple[int, int]] = Counter()
        ends = {client: values[0].get("until") for client, values in self.counted.items()}
        for record in wire:
            side = int(isinstance(record, Event))
            end = ends.get(record.client)
            if end is not None and record.sent <= end:
                self.until[side][record.client] += 1
                self.before[side][record.client] += record.sent < end
            if isinstance(record, Event):
                self.events[record.client, record.connection, record.what, record.path] += 1
            elif isinstance(record, Handshake):
                self._greeted(record)
            else:
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


def missing_on_the_wire(passed: Passed) -> Iterator[str]:
    """Of each client there is exactly what the links counted at the run's end, once."""
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


def contrary_on_the_wire(passed: Passed, session_timeout: float | None) -> Iterator[str]:
    """What the history, or the run's description, says and the wire denies."""
    yield from _unsent_watch_events(passed)
    if session_timeout is not None:
        yield from _unwanted_timeout(passed, session_timeout)
    yield from _living_connections(passed)


def _unsent_watch_events(passed: Passed) -> Iterator[str]:
    """No more watch events reached a client than servers sent on that connection."""
    reached = Counter(
        (each["client"], each["connection"], each["event"], each["path"])
        for op in passed.history.events("link", "watch")
        if (each := op.value)
    )
    for event, times in reached.items():
        if times > passed.events[event]:
            client, connection, what, path = event
            yield (
                f"{times} watch events ({what} {path}) reached c{client} on its connection "
                f"{connection}, but servers sent {passed.events[event]}"
            )
            return


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
