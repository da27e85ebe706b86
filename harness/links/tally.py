"""What has been seen of a client on its links, and in which direction a cut loses bytes."""

from collections import Counter, deque
from typing import Final

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.links import Cut, WatchLeft, WatchSeen
from rumpus.harness.links.watch_tracing import WatchTracing
from rumpus.harness.links.wire_tap import WireLog

LOSES_TO_SERVER: Final[frozenset[Cut | None]] = frozenset({"black-hole", "to-server", "half-open"})
LOSES_TO_CLIENT: Final[frozenset[Cut | None]] = frozenset({"black-hole", "to-client", "half-open"})


class Tally:
    """What has been seen of one client, over all its links.

    Args:
        client: its number.
        wire: takes a record of every request.
    """

    __slots__ = (
        "client",
        "connections",
        "last_answer",
        "requests",
        "shown",
        "swallowed",
        "unimplemented",
        "wire",
    )

    def __init__(self, client: int, wire: WireLog) -> None:
        self.client = client
        self.wire = wire
        self.connections = 0
        """How many connections the client has had."""
        self.swallowed = 0
        self.last_answer: int | None = None
        self.requests: Counter[int | None] = Counter()
        """Requests that were carried to servers, by opcode."""
        self.shown = 0
        """The highest zxid in the header of a reply."""
        self.unimplemented = False
        """Whether a server has refused a request as unknown."""


class ConnectionTally:
    """Adds what passes on one connection to its client's tally.

    Args:
        tally: the client's.
        watch_events: where watches that are seen are appended.
        node: the server to which the connection goes.

    Attributes:
        asked: whether the ConnectRequest has passed.
        wanted: the id of the session that it asked for; 0 if for a new one.
        granted: when the server granted or confirmed a session, in monotonic nanoseconds; 0 if
            it has not.
        session: the id of that session; 0 if there is none.
        welcomed: whether the answer to the ConnectRequest has come.
    """

    __slots__ = (
        "_greeted",
        "_tally",
        "_tap",
        "_tracing",
        "_watch_events",
        "asked",
        "granted",
        "session",
        "wanted",
        "welcomed",
    )

    def __init__(self, tally: Tally, watch_events: deque[WatchSeen | WatchLeft], node: str) -> None:
        tally.connections += 1
        self._tap = tally.wire.tap(tally.client, tally.connections, node)
        self._tally = tally
        self._watch_events = watch_events
        self._tracing = WatchTracing(tally.client, tally.connections)
        self._greeted = False
        self.asked = False
        self.wanted = 0
        self.welcomed = False
        self.granted = 0
        self.session = 0

    def requests(self, frames: list[bytes]) -> list[bytes]:
        """Take frames on their way to the server; returns those that are requests."""
        if frames and not self.asked:
            self.asked = True
            self.wanted = zookeeper_frames.session_asked(frames[0])
            frames = frames[1:]
        return frames

    def passed(self, frames: list[bytes], now: int) -> None:
        """Take frames that reach the server, the ConnectRequest among them."""
        for frame in frames:
            self._tap.to_server(frame, now)
            if self._greeted:
                self._tally.requests[zookeeper_frames.opcode(frame)] += 1
                self._tracing.request(frame)
            self._greeted = True

    def answered(self, frames: list[bytes], now: int) -> None:
        """Take frames that the server has sent, whether or not they reach the client."""
        for frame in frames:
            self._tap.from_server(frame, now)

    def ended(self) -> None:
        """The connection is over."""
        self._tap.end()

    def has(self, session: int) -> bool:
        """Whether the connection has a session, or has asked for it."""
        return session in (self.session, self.wanted)

    def replies(
        self, frames: list[bytes], awaited: int | None, now: int
    ) -> tuple[int | None, bool]:
        """Take frames from the server up to a reply that may not pass.

        Args:
            frames: all that the server has sent since the last call, as far as they are whole.
            awaited: the xid of the reply that may not pass; None: all may.
            now: monotonic nanoseconds.

        Returns:
            The index of that reply, None if it is not among them; and whether any frame before it
            answers the client: it grants a session or is a reply, not only a watch event.
        """
        answers = False
        for number, frame in enumerate(frames):
            if not self.welcomed:
                self.welcomed = True
                if zookeeper_frames.session_timeout(frame) > 0:
                    self.granted = now
                    self.session = zookeeper_frames.session_granted(frame)
                    answers = True
                continue
            xid = zookeeper_frames.xid(frame)
            is_event = xid == zookeeper_frames.WATCH_XID
            if xid is not None and xid == awaited and not is_event:
                return number, answers
            self.reply(frame, now)
            answers = answers or not is_event
        return None, answers

    def reply(self, frame: bytes, now: int) -> None:
        """Take a reply or an event on its way to the client, at that monotonic time in ns."""
        noted = self._tracing.reply(frame, now)
        self._tally.shown = max(self._tally.shown, self._tracing.shown)
        self._tally.unimplemented = self._tally.unimplemented or self._tracing.unimplemented
        if noted is not None:
            self._watch_events.append(noted)
