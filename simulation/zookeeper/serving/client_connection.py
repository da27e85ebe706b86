"""A server's end of a client's connection (``ServerCnxn``): frames, handshake, auth, replies."""

from collections.abc import Container
from struct import Struct
from struct import error as StructError  # noqa: N812 - the name of a class
from typing import TYPE_CHECKING, Any, Protocol

from rumpus.simulation.kernel.process import Process, World
from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.serving.owed_answers import LITTLE, OwedAnswers
from rumpus.simulation.zookeeper.serving.role import Role
from rumpus.simulation.zookeeper.serving.server_statistics import ServerStatistics
from rumpus.simulation.zookeeper.serving.session_ids import NO_PASSWORD, password
from rumpus.simulation.zookeeper.serving.short_answers import has_short_answer
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.simulation.zookeeper.storage.database import Database
from rumpus.simulation.zookeeper.tree.access_control import address_of, authenticate
from rumpus.simulation.zookeeper.wire import error_codes
from rumpus.simulation.zookeeper.wire.jute import (
    MalformedRecord,
    Reader,
    write_buffer,
    write_string,
)
from rumpus.simulation.zookeeper.wire.opcodes import (
    AUTH,
    MULTI,
    MULTI_READ,
    SASL,
    SET_WATCHES,
    SET_WATCHES2,
    VALID,
)
from rumpus.simulation.zookeeper.wire.request import Identities, Request

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.serving.session_tracker import ExpiryQueue

MILLISECOND = 1_000_000
HANDSHAKE_TIMEOUT = 10_000
"""Milliseconds after which a connection without a session is closed, rounded up to a bucket."""
SYNC_CONNECTED = 3
MOST_PIPELINED = 64
"""Requests of a connection that may be unanswered where what a client is owed has a bound: each may
have an answer of a megabyte."""
MOST_IDENTITIES = 16
LONGEST_IDENTITIES = 1024
"""Ids that a connection may prove there, and their letters: an ACL with ``auth`` gets all of them,
in each znode and in each server's log."""
MOST_JOINED = 64 * 1024
"""Bytes of watch events after which they are sent, where events of one moment are joined."""
_LARGE = {
    MULTI_READ: MOST_PIPELINED + 1,
    SET_WATCHES: MOST_PIPELINED + 1,
    SET_WATCHES2: MOST_PIPELINED + 1,
    MULTI: MOST_PIPELINED // 4,
}
"""How many requests some count for, towards `MOST_PIPELINED`.

The answer to a multiRead may be as long as 64 others, and a setWatches may cause as many events:
after one of them nothing is read until it is answered.
"""

_INT = Struct(">i")
_REQUEST = Struct(">ii")
_REPLY = Struct(">iiqi")
_EVENT = Struct(">iiqiii")
_CONNECT = Struct(">iqiq")
_CONNECT_REPLY = Struct(">iiqi16s")

_read_length = _INT.unpack_from
_read_header = _REQUEST.unpack_from
_pack_reply = _REPLY.pack
_pack_event = _EVENT.pack


class Server(Protocol):
    """What a connection needs of its server."""

    process: Process
    simulator: World
    settings: Settings
    database: Database
    statistics: ServerStatistics
    role: Role | None
    """None while the server does not serve."""
    idle: "ExpiryQueue[ClientConnection]"
    """Closes the connections that have not been updated in it for their timeout."""
    connection_of: "dict[int, ClientConnection]"
    """Session to the connection that has it, or asks to resume it."""
    in_process: int
    """Submitted requests of all connections that are not finished yet."""
    owed: OwedAnswers | None
    """What clients are owed; None if that has no bound."""
    outstanding_limit: int
    """Connections stop reading while more requests than this are in process."""

    @property
    def words(self) -> Container[bytes]:
        """The four-letter words that a connection may begin with."""

    def answer_word(self, word: bytes) -> str:
        """The answer to one of the four-letter words."""

    def open_session(self, connection: "ClientConnection", timeout: int) -> None:
        """Create a session for a connection; ``timeout`` in milliseconds, already clamped."""

    def close_session(self, session: int) -> None:
        """Submit a closeSession for a session that has expired."""

    def forget(self, connection: "ClientConnection") -> None:
        """The connection has been closed, by either side."""


class ClientConnection:
    """Receives a client's requests, and sends its replies and watch events.

    Args:
        server: that it is connected to.
        transport: to the client.

    Attributes:
        session: id of its session, 0 before the handshake.
        timeout: negotiated for this connection, milliseconds.
        identities: the authenticated ids; the address comes first.
        closed: by either side; nothing is sent any more, submitted requests are still processed.
        last_answered: the last request that was answered.
        last_zxid: zxid of that reply.
        last_time: time of that reply, in virtual nanoseconds.
        opened: time of the connection's start, in virtual nanoseconds.
        written: bytes that the client was sent, if what it is owed has a bound.
        outstanding: how many requests with a positive xid are not answered yet.
    """

    __slots__ = (
        "_buffer",
        "_events",
        "_idle_check",
        "_needed",
        "_parsing",
        "_read_only_wanted",
        "_reading",
        "_unanswered",
        "closed",
        "established",
        "identities",
        "last_answered",
        "last_time",
        "last_zxid",
        "opened",
        "outstanding",
        "server",
        "session",
        "statistics",
        "timeout",
        "transport",
        "written",
    )

    def __init__(self, server: Server, transport: Transport) -> None:
        self.server = server
        self.transport = transport
        self.session = 0
        self.timeout = 0
        self.identities: Identities = (("ip", address_of(transport.remote[0])),)
        self.closed = False
        self.established = False
        """Whether the handshake's request has been read."""
        self.statistics = ServerStatistics()
        self.last_answered: Request | None = None
        self.last_zxid = 0
        self.last_time = 0
        self.opened = server.simulator.now
        self.outstanding = 0
        self.written = 0
        self._unanswered = 0
        """Requests that were submitted and not answered, a large one as several: what they may
        need is bounded where what a client is owed is."""
        self._events = bytearray()
        """Watch events that are sent at the end of this moment."""
        self._buffer = bytearray()
        self._needed = 4
        """Bytes that the buffer must have before there can be another frame in it."""
        self._reading = True
        self._parsing = False
        self._read_only_wanted: bool | None = None
        """``readOnly`` of the ConnectRequest; None for old clients, which do not send it."""
        self._idle_check = 0
        """Virtual time from which activity moves the connection to a later bucket of ``idle``."""

    @property
    def reading(self) -> bool:
        """Whether requests are read; not during the handshake nor while throttled."""
        return self._reading

    # -- receiving ------------------------------------------------------------------------

    def data_received(self, data: Any) -> None:
        """Process every complete frame, and buffer the rest."""
        if self.closed:
            return
        now = self.server.simulator.now
        if now >= self._idle_check:
            self._note_activity(now)
        if self._buffer or not self._reading:
            self._buffer += data
            if self._reading and len(self._buffer) >= self._needed:
                self._parse_buffer()
        else:
            self._parse(data)

    def eof_received(self) -> None:
        """The client has closed its end."""
        self.close()

    def connection_lost(self, error: OSError | None) -> None:  # noqa: ARG002 - of the protocol
        """The connection is lost."""
        self.close()

    def _parse_buffer(self) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        server = self.server
        longest = self._longest_request()
        position = 0
        end = len(data)
        self._parsing = True
        self._needed = 4
        while end - position >= 4 and self._reading and not self.closed:
            (length,) = _read_length(data, position)
            established = self.established
            if not established and self._is_four_letter_word(data[position : position + 4]):
                break
            if length < 0 or length > longest or server.role is None:
                self.close()
                break
            start = position + 4
            stop = start + length
            if stop > end:
                self._needed = 4 + length
                break
            if established and not self._may_be_owed(data, start, length):
                break
            server.statistics.received += 1
            self.statistics.received += 1
            position = stop
            if established:
                self._process_request(data, start, stop)
            else:
                self._process_connect_request(data[start:stop])
        self._parsing = False
        if position < end and not self.closed:
            self._buffer += data[position:] if position else data

    def _may_be_owed(self, data: bytes, start: int, length: int) -> bool:
        """Whether there is room for the answer to a request; if not, it waits to be read."""
        owed = self.server.owed
        if owed is None or length < _REQUEST.size:
            return True
        _, kind = _read_header(data, start)
        if owed.has_room(_LARGE.get(kind, 1)):
            return True
        if not self._unanswered and self.transport.untaken() <= LITTLE:
            body = data[start + _REQUEST.size : start + length]
            if has_short_answer(kind, body, self.server.database.tree):
                return True
        self._stop_reading()
        if self.transport.unsent():
            self.transport.wait_writable()
        owed.wait(self)
        return False

    def _longest_request(self) -> int:
        """The bytes of the longest frame that is read."""
        return self.server.settings.max_buffer

    def _note_activity(self, now: int) -> None:
        server = self.server
        timeout = self.timeout or HANDSHAKE_TIMEOUT
        server.idle.update(self, timeout)
        # Until then it stays in the same bucket, so no update is needed.
        passed = server.process.clock.monotonic() // MILLISECOND + timeout
        self._idle_check = now + (HANDSHAKE_TIMEOUT - passed % HANDSHAKE_TIMEOUT) * MILLISECOND

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._reading or self.closed:
            return
        self._reading = True
        if not self._parsing and len(self._buffer) >= self._needed:
            self._parse_buffer()
        if self._reading and not self.closed:
            self.transport.resume_reading()

    def _is_four_letter_word(self, word: bytes) -> bool:
        server = self.server
        if word not in server.words:
            return False
        server.statistics.received += 1
        self.statistics.received += 1
        if server.owed is None:
            self.transport.write(server.answer_word(word).encode())
        elif server.owed.has_room(1):
            answer = server.answer_word(word).encode()
            self.transport.write(answer)
            server.owed.sent(self, len(answer))
        self.close()
        return True

    # -- handshake ------------------------------------------------------------------------

    def _process_connect_request(self, frame: bytes) -> None:
        server = self.server
        role = server.role
        assert role is not None
        try:
            _, last_zxid_seen, timeout, session = _CONNECT.unpack_from(frame)
            reader = Reader(frame, _CONNECT.size)
            given_password = reader.read_buffer()
        except (StructError, MalformedRecord):
            self.close()
            return
        rest = reader.rest()
        self._read_only_wanted = rest[0] != 0 if rest else None
        if (role.mode == "read-only" and not self._read_only_wanted) or self._is_ahead(
            last_zxid_seen
        ):
            self.close()
            return
        self.timeout = self._granted(timeout)
        self.established = True
        self._stop_reading()
        server.simulator.trace.append(session)
        if session == 0:
            server.open_session(self, self.timeout)
            return
        former = server.connection_of.get(session)
        if former is not None:
            former.close()
        self.session = session
        server.connection_of[session] = self
        if self._proves(session, given_password):
            role.reattach(self, session, self.timeout)
        else:
            self.answer_handshake(valid=False)

    def _granted(self, timeout: int) -> int:
        """The timeout (ms) of a session whose client asks for one."""
        settings = self.server.settings
        return min(max(timeout, settings.shortest_session), settings.longest_session)

    def _proves(self, session: int, given_password: bytes | None) -> bool:
        """Whether the password is that of the session."""
        return given_password == password(session)

    def _is_ahead(self, last_zxid_seen: int) -> bool:
        """Whether the client has seen a zxid that this server has not applied."""
        return last_zxid_seen > self.server.database.last_processed

    def answer_handshake(self, *, valid: bool) -> None:
        """Send the ConnectResponse; if the session is not valid, close the connection then."""
        if self.closed:
            return
        self._send(self._handshake_reply(valid=valid))
        if valid:
            self._note_activity(self.server.simulator.now)
            self._resume_reading()
        else:
            self.close()

    def session_opened(self, request: Request, zxid: int) -> None:
        """Send the ConnectResponse of a new session: its createSession has been applied."""
        self._answered(request, zxid)
        self.transport.write(self._handshake_reply(valid=True))
        self._note_activity(self.server.simulator.now)
        self._resume_reading()

    def _handshake_reply(self, *, valid: bool) -> bytes:
        if valid:
            reply = _CONNECT_REPLY.pack(0, self.timeout, self.session, 16, password(self.session))
        else:
            reply = _CONNECT_REPLY.pack(0, 0, 0, 16, NO_PASSWORD)
        if self._read_only_wanted is not None:
            role = self.server.role
            reply += b"\x01" if role is not None and role.mode == "read-only" else b"\x00"
        return _INT.pack(len(reply)) + reply

    # -- requests -------------------------------------------------------------------------

    def _process_request(self, data: bytes, start: int, stop: int) -> None:
        """Process the request in ``data[start:stop]``."""
        if stop - start < _REQUEST.size:
            self.close()
            return
        xid, kind = _read_header(data, start)
        server = self.server
        if xid > 0:
            self.outstanding += 1
            if server.in_process > server.outstanding_limit or self._owes_much():
                self._stop_reading()
        elif self._owes_much():  # a client chooses its numbers
            self._stop_reading()
        if kind == AUTH:
            self._authenticate(xid, data[start:stop])
            return
        if kind == SASL:
            self._send(_pack_reply(20, xid, 0, 0) + write_buffer(None))
            self._note_answer(xid)
            return
        role = server.role
        if role is None or not role.sessions.touch(self.session, self.timeout):
            return
        if kind not in VALID:
            self._send(_pack_reply(16, xid, -1, error_codes.UNIMPLEMENTED))
            self.close()
            return
        server.in_process += 1
        if server.settings.most_owed is not None:
            self._expect(_LARGE.get(kind, 1))
            if self._unanswered > MOST_PIPELINED:
                self._stop_reading()
        role.submit(
            Request(
                self.session,
                xid,
                kind,
                data[start + 8 : stop],
                self.identities,
                self,
                server,
                server.simulator.now,
            )
        )

    def _owes_much(self) -> bool:
        """Whether the client has to read, or to wait for answers, before it may ask for more."""
        most = self.server.settings.most_owed
        if most is None:
            return False
        if self.transport.unsent() > most:
            self.transport.wait_writable()
            return True
        return self._unanswered > MOST_PIPELINED

    def _expect(self, answers: int) -> None:
        """So many more answers (fewer, if negative) are to be sent; a large one is several."""
        self._unanswered += answers
        if self.server.owed is not None:
            self.server.owed.expected += answers
            if answers < 0:
                self.server.owed.freed()

    def writable(self) -> None:
        """The client has read what it was owed."""
        if self.server.owed is not None:
            self.server.owed.freed()
        self.admit()

    def admit(self) -> None:
        """Read requests again, unless the client is owed too much."""
        if not self._reading and self.established:
            self._read_if_not_throttled()

    def still_waits(self) -> None:
        """Keep the session of a client whose requests wait until others have read."""
        role = self.server.role
        if role is not None and not self.transport.untaken():
            role.sessions.touch(self.session, self.timeout)
            self._note_activity(self.server.simulator.now)

    def _authenticate(self, xid: int, frame: bytes) -> None:
        try:
            reader = Reader(frame, 12)
            scheme = reader.read_string()
            credentials = reader.read_buffer()
        except MalformedRecord:
            self.close()
            return
        proved = authenticate(
            scheme, credentials, self.identities[0][1], self.server.settings.super_digest
        )
        if not proved:
            self._send(_pack_reply(16, xid, 0, error_codes.AUTH_FAILED))
            self.close()
            return
        self.identities += tuple(one for one in proved if one not in self.identities)
        if self.server.settings.most_owed is not None and self._proves_too_much():
            self.close()
            return
        self._send(_pack_reply(16, xid, 0, 0))
        self._note_answer(xid)

    def _proves_too_much(self) -> bool:
        letters = sum(len(name) for _, name in self.identities)
        return len(self.identities) > MOST_IDENTITIES or letters > LONGEST_IDENTITIES

    # -- sending --------------------------------------------------------------------------

    def reply(self, request: Request, xid: int, zxid: int, error: int, body: bytes = b"") -> None:
        """Answer a request.

        Args:
            request: that is answered.
            xid: of the reply (-2 for pings).
            zxid: the last one applied.
            error: error code; 0 for success.
            body: the reply's record.
        """
        self._answered(request, zxid)
        if self._events:
            self._send_events()
        self.transport.write(_pack_reply(16 + len(body), xid, zxid, error) + body)
        if request.cxid > 0:
            self.outstanding -= 1
        if self.server.settings.most_owed is not None:
            self._note_owed(_REPLY.size + len(body))
            self._expect(-_LARGE.get(request.type, 1))
        elif request.cxid <= 0:
            return
        if not self._reading:
            self._read_if_not_throttled()

    def _answered(self, request: Request, zxid: int) -> None:
        server = self.server
        now = server.simulator.now
        latency = (now - request.arrived) // MILLISECOND
        server.statistics.answered(latency)
        self.statistics.answered(latency)
        self.last_answered = request
        self.last_zxid = zxid
        self.last_time = now

    def send_event(self, kind: int, path: str) -> None:
        """Send a watch event; ``kind`` is its type (1 to 4)."""
        if not self.closed:
            text = write_string(path)
            event = _pack_event(24 + len(text), -1, -1, 0, kind, SYNC_CONNECTED) + text
            if self.server.owed is None:
                self._send(event)
            else:
                self._send_soon(event)

    def close(self) -> None:
        """Close the connection after all that was sent; its session stays. May be repeated."""
        if self.closed:
            return
        self._send_events()
        self.closed = True
        self._buffer.clear()
        self.server.forget(self)
        self.transport.close()
        if self.server.owed is not None:
            self._expect(-self._unanswered)
            self.server.owed.left(self)

    def _send(self, data: bytes) -> None:
        if self._events:
            self._send_events()
        self.server.statistics.sent += 1
        self.statistics.sent += 1
        self.transport.write(data)
        self._note_owed(len(data))

    def _send_soon(self, event: bytes) -> None:
        """Send an event together with others of this moment: a setWatches may cause thousands."""
        if not self._events:
            self.server.process.call_later(0, self._send_events)
        self._events += event
        self.server.statistics.sent += 1
        self.statistics.sent += 1
        if len(self._events) >= MOST_JOINED:
            self._send_events()

    def _send_events(self) -> None:
        if self._events and not self.closed:
            events = bytes(self._events)
            self._events.clear()
            self.transport.write(events)
            self._note_owed(len(events))

    def _note_owed(self, size: int) -> None:
        if self.server.owed is not None:
            self.written += size
            self.server.owed.sent(self, size)

    def _note_answer(self, xid: int) -> None:
        if xid > 0:
            self.outstanding -= 1
            if not self._reading:
                self._read_if_not_throttled()

    def _read_if_not_throttled(self) -> None:
        server = self.server
        throttled = self.outstanding >= 1 and server.in_process > server.outstanding_limit
        if not (throttled or self._owes_much()):
            self._resume_reading()
