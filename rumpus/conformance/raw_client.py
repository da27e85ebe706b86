"""A ZooKeeper client that hides nothing: it sends what it is told and keeps all that comes."""

from collections import deque
from typing import Any, NamedTuple

from rumpus.conformance.channel import Channel, Clock
from rumpus.conformance.jute import Reader, boolean, buffer, int32, int64
from rumpus.conformance.operations import Operation, close_session

NO_PASSWORD = bytes(16)
PATIENCE_S = 15.0
"""How long a reply may take before the server counts as silent."""


class Event(NamedTuple):
    """A watch event."""

    type: int
    path: str | None


class Handshake(NamedTuple):
    """A ConnectResponse."""

    protocol: int
    timeout_ms: int
    session: int
    password: bytes | None
    read_only: bool | None
    size: int

    @property
    def valid(self) -> bool:
        """Whether there is a session."""
        return self.timeout_ms > 0


class Reply(NamedTuple):
    """A reply, and the events that came between the one before it and itself."""

    xid: int
    zxid: int
    error: int
    value: Any
    body: bytes
    events: list[Event]


class Closed(Exception):  # noqa: N818 - says what the connection is
    """The server hung up."""


class Silence(Exception):  # noqa: N818 - says what came
    """Nothing came in time."""


class RawClient:
    """One connection, before and after its handshake.

    Attributes:
        events: those that came and are not in a reply's ``events``.
        last_zxid: highest zxid that a reply has shown.
    """

    def __init__(self, channel: Channel, clock: Clock) -> None:
        self.channel = channel
        self.clock = clock
        self.events: list[Event] = []
        self.last_zxid = 0
        self.session = 0
        self.password = NO_PASSWORD
        self.timeout_ms = 0
        self.events_with_wrong_header: list[tuple[int, int, int]] = []
        self._bytes = b""
        self._pending: deque[tuple[int, Operation]] = deque()
        self._xid = 0

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.channel.send(data)

    def send_frame(self, frame: bytes) -> None:
        """Send bytes after their length."""
        self.channel.send(int32(len(frame)) + frame)

    def receive_bytes(self, count: int, timeout: float = PATIENCE_S) -> bytes:
        """Exactly so many bytes.

        Raises:
            Closed: the server hung up before.
            Silence: they did not come in time.
        """
        deadline = self.clock.now() + timeout
        while len(self._bytes) < count:
            left = deadline - self.clock.now()
            chunk = self.channel.receive(left) if left > 0 else None
            if chunk is None:
                raise Silence(f"{len(self._bytes)} of {count} bytes in {timeout} s")
            if not chunk:
                raise Closed(f"after {self._bytes!r}")
            self._bytes += chunk
        taken, self._bytes = self._bytes[:count], self._bytes[count:]
        return taken

    def receive_all(self, timeout: float = PATIENCE_S) -> bytes:
        """Everything until the server hangs up.

        Raises:
            Silence: it does not.
        """
        deadline = self.clock.now() + timeout
        while True:
            left = deadline - self.clock.now()
            chunk = self.channel.receive(left) if left > 0 else None
            if chunk is None:
                raise Silence(f"still open after {timeout} s and {self._bytes!r}")
            if not chunk:
                taken, self._bytes = self._bytes, b""
                return taken
            self._bytes += chunk

    def receive_frame(self, timeout: float = PATIENCE_S) -> bytes:
        """The content of the next frame. Raises as `receive_bytes` does."""
        return self.receive_bytes(Reader(self.receive_bytes(4, timeout)).int32(), timeout)

    def closed_silently(self, within: float = PATIENCE_S) -> bool:
        """Whether the server hangs up in time without another byte."""
        return self.last_words(within) == b""

    def last_words(self, within: float = PATIENCE_S) -> bytes | None:
        """What comes until the server hangs up; None if it does not in time."""
        try:
            return self.receive_all(within)
        except Silence:
            return None

    def quiet(self, seconds: float = 0.3) -> bool:
        """Whether neither bytes nor the end of the connection come for a while."""
        if self._bytes:
            return False
        chunk = self.channel.receive(seconds)
        self._bytes += chunk or b""
        return chunk is None

    def handshake(self, timeout_ms: int = 20_000, **asked: Any) -> Handshake:
        """Open or take over a session; arguments as for ``ask_for_session``.

        Raises:
            Closed: the server hung up instead.
        """
        self.ask_for_session(timeout_ms, **asked)
        return self.receive_handshake()

    def ask_for_session(
        self,
        timeout_ms: int = 20_000,
        *,
        session: int = 0,
        password: bytes = NO_PASSWORD,
        last_zxid: int = 0,
        read_only: bool | None = False,
        protocol: int = 0,
    ) -> None:
        """Send a ConnectRequest. ``read_only=None`` leaves that byte out."""
        body = int32(protocol) + int64(last_zxid) + int32(timeout_ms) + int64(session)
        body += buffer(password)
        if read_only is not None:
            body += boolean(read_only)
        self.send_frame(body)

    def receive_handshake(self, timeout: float = PATIENCE_S) -> Handshake:
        """The answer to `ask_for_session`. Raises as `receive_bytes` does."""
        frame = self.receive_frame(timeout)
        reader = Reader(frame)
        answer = Handshake(
            reader.int32(),
            reader.int32(),
            reader.int64(),
            reader.buffer(),
            reader.boolean() if reader.at < len(frame) else None,
            len(frame),
        )
        if answer.valid:
            self.session, self.password = answer.session, answer.password or b""
            self.timeout_ms = answer.timeout_ms
        return answer

    def send(self, operation: Operation, xid: int | None = None) -> int:
        """Send a request without waiting for its reply; the xid it got."""
        if xid is None:
            self._xid += 1
            xid = self._xid
        self._pending.append((xid, operation))
        self.send_frame(int32(xid) + int32(operation.code) + operation.body)
        return xid

    def receive(self, timeout: float = PATIENCE_S) -> Reply:
        """The reply to the oldest request that has none.

        Raises:
            Closed: the server hung up.
            Silence: it did not come in time.
            AssertionError: the reply is not to that request.
        """
        deadline = self.clock.now() + timeout
        while True:
            frame = self.receive_frame(max(0.0, deadline - self.clock.now()))
            reader = Reader(frame)
            xid, zxid, error = reader.int32(), reader.int64(), reader.int32()
            if xid == -1 and (not self._pending or self._pending[0][0] != -1):
                self._keep_event(reader, zxid, error)
                continue
            wanted, operation = self._pending.popleft()
            if operation.code == 11:
                wanted = -2
            assert xid == wanted, f"the reply to {wanted} carries xid {xid}"
            body = reader.rest()
            value = None
            if error == 0 and operation.code not in (-11, 100):
                reader = Reader(body)
                value = operation.decode(reader)
                assert reader.at == len(body), f"{body[reader.at :]!r} follows the reply"
            self.last_zxid = max(self.last_zxid, zxid)
            events, self.events = self.events, []
            return Reply(xid, zxid, error, value, body, events)

    def _keep_event(self, reader: Reader, zxid: int, error: int) -> None:
        kind, state, path = reader.int32(), reader.int32(), reader.ustring()
        if (zxid, error, state) != (-1, 0, 3):
            self.events_with_wrong_header.append((zxid, error, state))
        self.events.append(Event(kind, path))

    def call(self, operation: Operation, xid: int | None = None) -> Reply:
        """Send a request and wait for its reply. Raises as `receive` does."""
        self.send(operation, xid)
        return self.receive()

    def await_events(self, count: int, timeout: float = PATIENCE_S) -> list[Event]:
        """The next so many events, which come without any reply.

        Raises:
            Closed: the server hung up.
            Silence: they did not come in time.
        """
        while len(self.events) < count:
            reader = Reader(self.receive_frame(timeout))
            xid, zxid, error = reader.int32(), reader.int64(), reader.int32()
            assert xid == -1, f"a reply with xid {xid} where an event was due"
            self._keep_event(reader, zxid, error)
        taken, self.events = self.events[:count], self.events[count:]
        return taken

    def close_session(self) -> Reply:
        """Close the session and wait for the reply. Raises as `receive` does."""
        return self.call(close_session())

    def hang_up(self) -> None:
        """Close the connection without closing the session."""
        self.channel.close()
