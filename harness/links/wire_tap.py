"""Records what passes on one connection: handshake, requests, and answers (`checker.wire.records`).

The layout of requests and replies is that of ZooKeeper's ``zookeeper.jute``, the same in all 3.x.
What is cut off or malformed is recorded as far as it can be read: the server will say what it
thinks of it.
"""

import struct
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from hashlib import sha1
from zlib import crc32

import msgspec

from rumpus.checker.wire.records import Event, Handshake, Part, Request, Stat, sum_of, sum_of_names

_LENGTH = struct.Struct(">i")
_LONG = struct.Struct(">q")
_REQUEST = struct.Struct(">iii")  # length, xid, opcode
_REPLY = struct.Struct(">iiqi")  # length, xid, zxid, error
_CONNECT = struct.Struct(">iiqiq")  # length, version, last zxid seen, timeout, session's id
_CONNECTED = struct.Struct(">iiiq")  # length, version, timeout, session's id
_STAT = struct.Struct(">4q3iq2iq")
_PART = struct.Struct(">i?i")  # the header before each part of a multi: opcode, done, error
_EVENT_XID = -1
_EVENTS = {1: "created", 2: "deleted", 3: "changed", 4: "child"}

NAMES = {
    1: "create",
    2: "delete",
    3: "exists",
    4: "get-data",
    5: "set-data",
    6: "get-acl",
    7: "set-acl",
    8: "get-children",
    9: "sync",
    11: "ping",
    12: "get-children2",
    13: "check",
    14: "multi",
    15: "create2",
    16: "reconfig",
    17: "check-watches",
    18: "remove-watches",
    19: "create-container",
    21: "create-ttl",
    22: "multi-read",
    100: "auth",
    101: "set-watches",
    102: "sasl",
    103: "get-ephemerals",
    104: "count-children",
    105: "set-watches2",
    106: "add-watch",
    107: "who-am-i",
    -11: "close",
}
_UNNAMED = "opcode-"


class _Cursor:
    """Reads the fields of a frame, one after the other."""

    __slots__ = ("at", "frame")

    def __init__(self, frame: bytes, at: int) -> None:
        self.frame = frame
        self.at = at

    def integer(self) -> int:
        (value,) = _LENGTH.unpack_from(self.frame, self.at)
        self.at += 4
        return int(value)

    def buffer(self) -> bytes:
        """A buffer or string; empty if it is null."""
        start = self.at + 4
        length = self.integer()
        if length > 0:
            self.at = start + length
            if self.at > len(self.frame):
                raise struct.error("a buffer longer than its frame")
            return self.frame[start : self.at]
        return b""

    def text(self) -> str:
        return self.buffer().decode(errors="replace")

    def stat(self) -> Stat:
        found: Stat = _STAT.unpack_from(self.frame, self.at)
        self.at += _STAT.size
        return found

    def acl(self) -> int:
        """The CRC-32 of an access control list."""
        start = self.at
        for _ in range(max(0, self.integer())):
            self.at += 4
            self.buffer()
            self.buffer()
        return crc32(self.frame[start : self.at])

    def names(self) -> tuple[int, int]:
        return sum_of_names([self.buffer() for _ in range(max(0, self.integer()))])


def _ask_path(part: Part, body: _Cursor) -> None:
    part.path = body.text()


def _ask_create(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    part.data = sum_of(body.buffer())
    part.acl = body.acl()
    part.flags = body.integer()
    if part.name == "create-ttl":
        body.at += 8


def _ask_version(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    part.version = body.integer()


def _ask_set_data(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    part.data = sum_of(body.buffer())
    part.version = body.integer()


def _ask_set_acl(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    part.acl = body.acl()
    part.version = body.integer()


def _ask_watched(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    watch = body.frame[body.at : body.at + 1]
    body.at += 1
    if isinstance(part, Request):  # within a multi-read nobody watches
        part.watch = watch == b"\x01"


def _ask_mode(part: Part, body: _Cursor) -> None:
    part.path = body.text()
    if isinstance(part, Request):
        part.mode = body.integer()


def _ask_auth(part: Part, body: _Cursor) -> None:
    """The id is what access control lists have: its hash, not the password."""
    body.at += 4
    scheme, proof = body.text(), body.buffer()
    name = ""
    if scheme == "digest":
        hashed = b64encode(sha1(proof, usedforsecurity=False).digest()).decode()
        name = f"{proof.partition(b':')[0].decode(errors='replace')}:{hashed}"
    if isinstance(part, Request):
        part.who = (scheme, name)


def _ask_set_watches(part: Part, body: _Cursor) -> None:
    if isinstance(part, Request):
        (part.since,) = _LONG.unpack_from(body.frame, body.at)
        body.at += 8
        for _ in range(3 if part.name == "set-watches" else 5):
            part.watches.append([body.text() for _ in range(max(0, body.integer()))])


_ASKS: dict[str, Callable[[Part, _Cursor], None]] = {
    **dict.fromkeys(("create", "create2", "create-container", "create-ttl"), _ask_create),
    **dict.fromkeys(("delete", "check"), _ask_version),
    **dict.fromkeys(("exists", "get-data", "get-children", "get-children2"), _ask_watched),
    **dict.fromkeys(
        ("get-acl", "sync", "get-ephemerals", "count-children"),
        _ask_path,
    ),
    "auth": _ask_auth,
    **dict.fromkeys(("add-watch", "remove-watches"), _ask_mode),
    **dict.fromkeys(("set-watches", "set-watches2"), _ask_set_watches),
    "set-data": _ask_set_data,
    "set-acl": _ask_set_acl,
}


def _tell_made(part: Part, body: _Cursor) -> None:
    part.made = body.text()


def _tell_made_and_stat(part: Part, body: _Cursor) -> None:
    part.made = body.text()
    part.stat = body.stat()


def _tell_stat(part: Part, body: _Cursor) -> None:
    part.stat = body.stat()


def _tell_data(part: Part, body: _Cursor) -> None:
    part.told = sum_of(body.buffer())
    part.stat = body.stat()


def _tell_acl(part: Part, body: _Cursor) -> None:
    part.acl = body.acl()
    part.stat = body.stat()


def _tell_children(part: Part, body: _Cursor) -> None:
    part.children = body.names()
    if part.name == "get-children2":
        part.stat = body.stat()


def _tell_count(part: Part, body: _Cursor) -> None:
    part.count = body.integer()


_TELLS: dict[str, Callable[[Part, _Cursor], None]] = {
    "create": _tell_made,
    **dict.fromkeys(("create2", "create-container", "create-ttl"), _tell_made_and_stat),
    **dict.fromkeys(("exists", "set-data", "set-acl"), _tell_stat),
    "get-data": _tell_data,
    "get-acl": _tell_acl,
    **dict.fromkeys(("get-children", "get-children2", "get-ephemerals"), _tell_children),
    "count-children": _tell_count,
}


def _ask_parts(body: _Cursor) -> list[Part]:
    parts: list[Part] = []
    while True:
        opcode, done, _ = _PART.unpack_from(body.frame, body.at)
        body.at += _PART.size
        if done:
            return parts
        part = Part(NAMES.get(opcode, f"{_UNNAMED}{opcode}"))
        _ASKS[part.name](part, body)
        parts.append(part)


def _tell_parts(parts: list[Part], body: _Cursor) -> None:
    for part in parts:
        opcode, done, error = _PART.unpack_from(body.frame, body.at)
        body.at += _PART.size
        if done:
            return
        if opcode == -1:
            part.error = body.integer()
            continue
        part.error = error
        tell = _tell_made_and_stat if opcode in (15, 19, 21) else _TELLS.get(part.name)
        if tell is not None:
            tell(part, body)


class WireLog:
    """Collects records, as lines of JSON, until they are written.

    Args:
        origin: what the monotonic clock shows when the run's clock is 0, in ns.
        write: takes lines whenever many have come, and at the end; None: all stay in ``lines``.

    Attributes:
        lines: what was not written yet.
        begun: client -> how many handshakes and requests of it have passed.
    """

    _MANY = 1 << 16  # bytes

    def __init__(self, origin: int, write: Callable[[bytes], object] | None = None) -> None:
        self.origin = origin
        self.lines = bytearray()
        self.begun: Counter[int] = Counter()
        self._write = write
        self._encoder = msgspec.json.Encoder()
        self._taps: dict[WireTap, None] = {}
        self._passwords: dict[int, bytes] = {}

    def tap(self, client: int, connection: int, node: str) -> "WireTap":
        """Begin to record a connection."""
        tap = WireTap(self, client, connection, node)
        self._taps[tap] = None
        return tap

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
        """Take a frame that passes to the server."""
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
        name = NAMES.get(opcode) or f"{_UNNAMED}{opcode}"
        record = Request(
            name,
            client=self._client,
            connection=self._connection,
            xid=xid,
            sent=now - self._log.origin,
        )
        ask = _ASKS.get(name)
        try:
            if ask is not None:
                ask(record, _Cursor(frame, _REQUEST.size))
            elif opcode in (14, 22):
                record.parts = _ask_parts(_Cursor(frame, _REQUEST.size))
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
                _tell_parts(record.parts, _Cursor(frame, _REPLY.size))
            elif error == 0 and (tell := _TELLS.get(record.name)) is not None:
                tell(record, _Cursor(frame, _REPLY.size))
        except struct.error:
            record.name = f"malformed {record.name}"
        self._log.add(record)

    def _event(self, frame: bytes, now: int) -> None:
        cursor = _Cursor(frame, _REPLY.size)
        try:
            what = _EVENTS.get(cursor.integer())
            cursor.at += 4  # the state
            path = cursor.text()
        except struct.error:
            return
        if what is not None:
            time = now - self._log.origin
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
