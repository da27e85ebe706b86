"""Frames of ZooKeeper's client protocol: where they end, and the few fields the links look at.

Every packet is an int length and that many bytes, big-endian throughout. The first frame each
way is the session handshake (ConnectRequest, ConnectResponse) and has no header; every later
request begins with ``int xid, int opcode``, every later reply with ``int xid, long zxid, int
error``. A frame here is always the whole packet, its length included.

The layout is that of ZooKeeper's ``zookeeper.jute`` and ``ZooDefs``, the same in all 3.x.
"""

import struct
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

WatchedEvent = Literal["created", "deleted", "changed", "child"]

WATCH_XID = -1
PING_XID = -2
"""The xid of a watch event; every other reply answers a request."""

LENGTH_BYTES = 4

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">iii")  # length, xid, opcode
_REPLY = struct.Struct(">iiqi")  # length, xid, zxid, error
_CONNECTED = struct.Struct(">iii")  # length, protocol version, timeout
_SESSION = struct.Struct(">iiiq")  # as above, then the session's id
_CONNECT = struct.Struct(">iiqiq")  # length, version, last zxid seen, timeout, session's id
_CONNECT_ALL = struct.Struct(">iiqiqi16s?")  # as above, then the password, and read-only
_WATCH = struct.Struct(">iiqiiii")  # as a reply, then type, state, length of the path
_OPERATION = struct.Struct(">i?i")  # the header before each part of a multi: opcode, done, error

_CREATES = frozenset({1, 15, 19, 21})  # create, create2, createContainer, createTTL
_MULTI = 14
_DELETE, _SET_DATA, _CHECK = 2, 5, 13

REQUESTS: Final[Mapping[str, frozenset[int]]] = {
    "create": _CREATES,
    "delete": frozenset({2}),
    "exists": frozenset({3}),
    "get-data": frozenset({4}),
    "set-data": frozenset({5}),
    "get-children": frozenset({8, 12}),
    "sync": frozenset({9}),
    "ping": frozenset({11}),
    "multi": frozenset({14}),
    "close": frozenset({-11}),
    "read": frozenset({3, 4, 8, 12}),
    "write": _CREATES | {_DELETE, _SET_DATA, _MULTI},
    "change": _CREATES | {_SET_DATA, _MULTI},
}
"""Kinds of request that can be told apart, by opcode. A create may also stand inside a multi; a
multi is a change unless it only checks."""

PIECE: Final = 1 << 20
"""In place of an opcode: bytes of another protocol that a client sent at a time."""

_NAMES: Final[Mapping[int, str]] = {
    PIECE: "piece",
    2: "delete",
    3: "exists",
    4: "get-data",
    5: "set-data",
    6: "get-acl",
    7: "set-acl",
    8: "get-children",
    9: "sync",
    11: "ping",
    12: "get-children",
    13: "check",
    14: "multi",
    16: "reconfig",
    17: "check-watches",
    18: "remove-watches",
    100: "auth",
    101: "set-watches",
    102: "sasl",
    103: "get-ephemerals",
    104: "count-children",
    105: "set-watches",
    106: "add-watch",
    107: "who-am-i",
    -11: "close",
} | dict.fromkeys(_CREATES, "create")

_EVENTS: dict[int, WatchedEvent] = {1: "created", 2: "deleted", 3: "changed", 4: "child"}

_WATCHING: dict[int, Literal["data", "exists", "children"]] = {
    3: "exists",
    4: "data",
    8: "children",
    12: "children",
}

# Far above what any server accepts, and below every four-letter word read as a length.
_LONGEST = 1 << 30

EXPIRED: Final = _SESSION.pack(37, 0, 0, 0) + _LENGTH.pack(16) + bytes(17)
"""The ConnectResponse to a client whose session has ended: no timeout, no session, no password."""


class FrameReader:
    """Finds the frames in one direction of a connection, however its bytes are split.

    Attributes:
        tracking: whether the stream is still read as frames. A length that no frame can have
            (a four-letter word, or no ZooKeeper traffic at all) ends that for good.
        pending: how many bytes of an incomplete frame have been seen.
    """

    __slots__ = ("_partial", "_wanted", "pending", "tracking")

    def __init__(self) -> None:
        self.tracking = True
        self.pending = 0
        self._partial = bytearray()
        self._wanted = LENGTH_BYTES

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes of the stream; returns the frames that they completed."""
        if not self.tracking:
            return []
        if self.pending:
            self._partial += data
            self.pending = len(self._partial)
            if self.pending < self._wanted:
                return []
            data = bytes(self._partial)
        elif len(data) >= LENGTH_BYTES and _LENGTH.unpack_from(data)[0] == len(data) - LENGTH_BYTES:
            return [data]  # by far the most common: one read, one frame, no copy
        return self._split(data)

    def _split(self, data: bytes) -> list[bytes]:
        frames = []
        start = 0
        self._wanted = LENGTH_BYTES
        while len(data) - start >= LENGTH_BYTES:
            (length,) = _LENGTH.unpack_from(data, start)
            if not 0 <= length <= _LONGEST:
                self.tracking = False
                start = len(data)
                break
            size = LENGTH_BYTES + length
            if len(data) - start < size:
                self._wanted = size
                break
            frames.append(data[start : start + size])
            start += size
        self._partial = bytearray(data[start:])
        self.pending = len(self._partial)
        return frames


class Watching(NamedTuple):
    """A read that sets a watch: its xid, the kind of watch, and the znode."""

    xid: int
    kind: Literal["data", "exists", "children"]
    path: str


class ReplyHeader(NamedTuple):
    """What every reply begins with."""

    xid: int
    zxid: int
    error: int


class Watched(NamedTuple):
    """A watch event: what happened, and to which znode."""

    event: WatchedEvent
    path: str


def xid(frame: bytes) -> int | None:
    """The xid of a request or reply; None if the frame is too short to have a header."""
    return _REQUEST.unpack_from(frame)[1] if len(frame) >= _REQUEST.size else None


def opcode(frame: bytes) -> int | None:
    """The opcode of a request; None if the frame is too short to have one."""
    return _REQUEST.unpack_from(frame)[2] if len(frame) >= _REQUEST.size else None


def request_name(opcode: int | None) -> str:
    """The name of a kind of request, in the words of ``REQUESTS``; ``opcode-N`` if it has none."""
    if opcode is None:
        return "malformed"
    return _NAMES.get(opcode, f"opcode-{opcode}")


def is_ping(frame: bytes) -> bool:
    """Whether a request or a reply is a heartbeat."""
    return xid(frame) == PING_XID


def requests_by_name(opcodes: Mapping[int | None, int]) -> dict[str, int]:
    """Numbers of requests by opcode -> the same by name, in order of name."""
    named: dict[str, int] = {}
    for code, number in opcodes.items():
        name = request_name(code)
        named[name] = named.get(name, 0) + number
    return dict(sorted(named.items()))


def reply_header(frame: bytes) -> ReplyHeader | None:
    """The header of a reply; None if the frame is too short to have one."""
    return ReplyHeader(*_REPLY.unpack_from(frame)[1:]) if len(frame) >= _REPLY.size else None


def watching(frame: bytes) -> Watching | None:
    """The watch that a request asks to set; None if it asks for none."""
    if len(frame) <= _REQUEST.size + LENGTH_BYTES or not frame[-1]:
        return None
    _, number, opcode = _REQUEST.unpack_from(frame)
    kind = _WATCHING.get(opcode)
    if kind is None:
        return None
    return Watching(number, kind, frame[_REQUEST.size + LENGTH_BYTES : -1].decode(errors="replace"))


def session_timeout(frame: bytes) -> int:
    """The negotiated timeout in a ConnectResponse, in milliseconds; 0 if there is no session."""
    return _CONNECTED.unpack_from(frame)[2] if len(frame) >= _CONNECTED.size else 0


def session_asked(frame: bytes) -> int:
    """The id of the session that a ConnectRequest asks for; 0 if for a new one."""
    return _CONNECT.unpack_from(frame)[4] if len(frame) >= _CONNECT.size else 0


def session_granted(frame: bytes) -> int:
    """The id of the session in a ConnectResponse; 0 if there is no session."""
    return _SESSION.unpack_from(frame)[3] if len(frame) >= _SESSION.size else 0


def session_password(frame: bytes) -> bytes:
    """The session's password in a ConnectResponse."""
    start = _SESSION.size + LENGTH_BYTES
    return frame[start : start + 16]


def connect_request(timeout: int, session: int = 0, password: bytes = bytes(16)) -> bytes:
    """A ConnectRequest for a new session (0), or one to be resumed; the timeout is in ms."""
    length = _CONNECT_ALL.size - LENGTH_BYTES
    return _CONNECT_ALL.pack(length, 0, 0, timeout, session, 16, password, False)


def request(number: int, opcode: int, body: bytes = b"") -> bytes:
    """A request, with its number (xid)."""
    return _REQUEST.pack(8 + len(body), number, opcode) + body


def asks_for(kind: str, frame: bytes) -> bool:
    """Whether a request is of a kind, one of ``REQUESTS``."""
    if kind == "create":
        return creates(frame)
    if kind == "change":
        return changes(frame)
    return len(frame) >= _REQUEST.size and _REQUEST.unpack_from(frame)[2] in REQUESTS[kind]


def creates(frame: bytes) -> bool:
    """Whether a request asks for a znode to be created, by itself or inside a multi."""
    if len(frame) < _REQUEST.size:
        return False
    opcode = _REQUEST.unpack_from(frame)[2]
    return opcode in _CREATES or (opcode == _MULTI and _multi_has(_CREATES, frame))


def changes(frame: bytes) -> bool:
    """Whether a request creates or sets a znode, or is a multi that does more than check.

    A plain delete does not count: recipes use one as a barrier, and it may be done twice.
    """
    if len(frame) < _REQUEST.size:
        return False
    opcode = _REQUEST.unpack_from(frame)[2]
    if opcode == _MULTI:
        return _multi_has(_CREATES | {_DELETE, _SET_DATA}, frame)
    return opcode in _CREATES or opcode == _SET_DATA


def _multi_has(wanted: frozenset[int], frame: bytes) -> bool:
    """Whether one of a multi's parts has one of the opcodes."""
    position = _REQUEST.size
    try:
        while True:
            opcode, done, _ = _OPERATION.unpack_from(frame, position)
            if opcode in wanted and not done:
                return True
            if done or opcode not in {_DELETE, _SET_DATA, _CHECK}:
                return False
            position = _after_buffer(frame, position + _OPERATION.size)  # the path
            if opcode == _SET_DATA:
                position = _after_buffer(frame, position)
            position += 4  # the version
    except struct.error:
        return False  # malformed, so the server does nothing either


def _after_buffer(frame: bytes, position: int) -> int:
    """The position behind a buffer or string, whose length is -1 when it is null."""
    return position + LENGTH_BYTES + max(0, int(_LENGTH.unpack_from(frame, position)[0]))


def watched(frame: bytes) -> Watched | None:
    """The watch event in a frame with ``WATCH_XID``; None if it concerns no znode."""
    if len(frame) < _WATCH.size:
        return None
    *_, kind, _state, length = _WATCH.unpack_from(frame)
    event = _EVENTS.get(kind)
    if event is None:
        return None
    path = frame[_WATCH.size : _WATCH.size + max(0, length)]
    return Watched(event, path.decode(errors="replace"))
