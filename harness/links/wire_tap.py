"""Records what passes on one connection: handshake, requests, and answers (`checker.wire.records`).

What is cut off or malformed is recorded as far as it can be read: the server will say what it
thinks of it.
"""

import struct
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from rumpus.checker.wire.records import Event, EventKind, Handshake, Request
from rumpus.harness.links.links import WirePassed
from rumpus.harness.links.wire_fields import (
    ASKS,
    NAMES,
    TELLS,
    UNNAMED,
    Cursor,
    ask_parts,
    tell_parts,
)

_REQUEST = struct.Struct(">iii")  # length, xid, opcode
_REPLY = struct.Struct(">iiqi")  # length, xid, zxid, error
_CONNECT = struct.Struct(">iiqiq")  # length, version, last zxid seen, timeout, session's id
_CONNECTED = struct.Struct(">iiiq")  # length, version, timeout, session's id
_EVENT_XID = -1
_EVENTS: Final[Mapping[int, EventKind]] = {1: "created", 2: "deleted", 3: "changed", 4: "child"}


class WireLog:
    """Collects records, as lines of JSON, until they are written.

    Args:
        origin: what the monotonic clock shows when the run's clock is 0, in ns.
        write: takes lines whenever many have come, and at the end; None: all stay in ``lines``.

    Attributes:
        lines: what was not written yet.
        begun: client -> how many handshakes and requests of it have passed.
        events: client -> how many watch events servers have sent to it.
        place: says at which line of the recipe a client stands; empty words if nobody knows.
    """

    _MANY = 1 << 16  # bytes

    def __init__(self, origin: int, write: Callable[[bytes], object] | None = None) -> None:
        self.origin = origin
        self.lines = bytearray()
        self.begun: Counter[int] = Counter()
        self.events: Counter[int] = Counter()
        self.place: Callable[[int], str] = lambda _: ""
        self._write = write
        self._encoder = msgspec.json.Encoder()
        self._taps: dict[WireTap, None] = {}
        self._passwords: dict[int, bytes] = {}

    def tap(self, client: int, connection: int, node: str) -> "WireTap":
        """Begin to record a connection."""
        return WireTap(self, client, connection, node)

    def passed(self, client: int, now: int) -> WirePassed:
        """How much of a client has passed until now, in monotonic nanoseconds."""
        return WirePassed(self.begun[client], self.events[client], now - self.origin)

    def add(self, record: Handshake | Request | Event) -> None:
        """Take a record that is complete."""
        self.lines += self._encoder.encode(record)
        self.lines += b"\n"
        if self._write is not None and len(self.lines) > self._MANY:
            self._hand_over()

    def finish(self) -> bytes:
        """Write down what was never answered, too; returns what no ``write`` has taken."""
        for tap in list(self._taps):
            tap.end()
        self._hand_over()
        return bytes(self.lines)

    def await_end(self, tap: "WireTap") -> None:
        """A connection may have something that was not answered yet."""
        self._taps[tap] = None

    def forget(self, tap: "WireTap") -> None:
        """A connection is over."""
        self._taps.pop(tap, None)

    def knows(self, session: int, password: bytes) -> bool | None:
        """Whether it is the password of a session; None if nobody was told one."""
        known = self._passwords.get(session)
        return None if known is None else known == password

    def learn(self, session: int, password: bytes) -> None:
        """A server has told a client the password of its session."""
        self._passwords.setdefault(session, password)

    def _hand_over(self) -> None:
        if self._write is not None and self.lines:
            self._write(bytes(self.lines))
            self.lines.clear()


class WireTap:
    """Records one connection; times are monotonic nanoseconds."""

    __slots__ = ("_began", "_client", "_connection", "_handshake", "_log", "_node", "_waiting")

    def __init__(self, log: WireLog, client: int, connection: int, node: str) -> None:
        self._log = log
        self._client = client
        self._connection = connection
        self._node = node
        self._began = False
        self._handshake: Handshake | None = None
        self._waiting: dict[int, list[Request]] = {}

    def to_server(self, frame: bytes, now: int) -> None:
        """Take a frame that passes to the server, maybe the last one before a reset that ended."""
        self._log.await_end(self)
        if self._began:
            self._request(frame, now)
        else:
            self._began = True
            self._asked(frame, now)

    def from_server(self, frame: bytes, now: int) -> None:
        """Take a frame that comes from the server."""
        if self._handshake is not None:
            self._welcomed(frame, now)
        else:
            self._reply(frame, now)

    def _asked(self, frame: bytes, now: int) -> None:
        self._log.begun[self._client] += 1
        self._handshake = record = Handshake(
            self._client, self._connection, self._node, now - self._log.origin
        )
        if len(frame) < _CONNECT.size + 4:
            return
        _, _, record.seen, record.wanted, record.asked = _CONNECT.unpack_from(frame)
        if record.asked:
            password = frame[_CONNECT.size + 4 : _CONNECT.size + 20]
            record.proved = self._log.knows(record.asked, password)

    def _welcomed(self, frame: bytes, now: int) -> None:
        record, self._handshake = self._handshake, None
        assert record is not None, "nobody answers what was not asked"
        record.answered = now - self._log.origin
        if len(frame) >= _CONNECTED.size:
            _, _, record.timeout, record.session = _CONNECTED.unpack_from(frame)
            if record.timeout <= 0:
                record.timeout = record.session = 0
            else:
                start = _CONNECTED.size + 4
                self._log.learn(record.session, frame[start : start + 16])
        self._log.add(record)

    def _request(self, frame: bytes, now: int) -> None:
        if len(frame) < _REQUEST.size:
            return
        _, xid, opcode = _REQUEST.unpack_from(frame)
        name = NAMES.get(opcode) or f"{UNNAMED}{opcode}"
        record = Request(
            name,
            client=self._client,
            connection=self._connection,
            xid=xid,
            sent=now - self._log.origin,
            at=self._log.place(self._client),
        )
        ask = ASKS.get(name)
        try:
            if ask is not None:
                ask(record, Cursor(frame, _REQUEST.size))
            elif opcode in (14, 22):
                record.parts = ask_parts(Cursor(frame, _REQUEST.size))
        except (struct.error, KeyError):
            record.name = f"malformed {name}"
        self._log.begun[self._client] += 1
        self._waiting.setdefault(xid, []).append(record)

    def _reply(self, frame: bytes, now: int) -> None:
        if len(frame) < _REPLY.size:
            return
        _, xid, zxid, error = _REPLY.unpack_from(frame)
        if xid == _EVENT_XID:
            self._event(frame, now)
            return
        waiting = self._waiting.get(xid)
        if not waiting:
            return
        record = waiting.pop(0)
        if not waiting:
            del self._waiting[xid]
        record.answered = now - self._log.origin
        record.zxid, record.error = zxid, error
        try:
            if record.parts and len(frame) > _REPLY.size:
                tell_parts(record.parts, Cursor(frame, _REPLY.size))
            elif error == 0 and (tell := TELLS.get(record.name)) is not None:
                tell(record, Cursor(frame, _REPLY.size))
        except struct.error:
            record.name = f"malformed {record.name}"
        self._log.add(record)

    def _event(self, frame: bytes, now: int) -> None:
        cursor = Cursor(frame, _REPLY.size)
        try:
            what = _EVENTS.get(cursor.integer())
            cursor.at += 4  # the state
            path = cursor.text()
        except struct.error:
            return
        if what is not None:
            time = now - self._log.origin
            self._log.events[self._client] += 1
            self._log.add(Event(self._client, self._connection, time, what, path))

    def end(self) -> None:
        """The connection is over: write down what was not answered."""
        if self._handshake is not None:
            self._log.add(self._handshake)
            self._handshake = None
        for waiting in self._waiting.values():
            for record in waiting:
                self._log.add(record)
        self._waiting.clear()
        self._log.forget(self)
