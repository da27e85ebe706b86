"""The fields of requests and replies, as a record of the wire has them.

The layout is that of ZooKeeper's ``zookeeper.jute``, the same in all 3.x. What is cut off or
malformed raises ``struct.error``, or ``KeyError`` for a part of a multi that none can have.
"""

import struct
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1
from zlib import crc32

from rumpus.checker.wire.records import Part, Request, Stat, sum_of, sum_of_names

_LENGTH = struct.Struct(">i")
_LONG = struct.Struct(">q")
_STAT = struct.Struct(">4q3iq2iq")
_PART = struct.Struct(">i?i")  # the header before each part of a multi: opcode, done, error

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
UNNAMED = "opcode-"


class Cursor:
    """Reads the fields of a frame, one after the other."""

    __slots__ = ("at", "frame")

    def __init__(self, frame: bytes, at: int) -> None:
        self.frame = frame
        self.at = at

    def integer(self) -> int:
        """An int of four bytes."""
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
        """A string."""
        return self.buffer().decode(errors="replace")

    def stat(self) -> Stat:
        """A Stat."""
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
        """The sum of a list of names."""
        return sum_of_names([self.buffer() for _ in range(max(0, self.integer()))])


def _ask_path(part: Part, body: Cursor) -> None:
    part.path = body.text()


def _ask_create(part: Part, body: Cursor) -> None:
    part.path = body.text()
    part.data = sum_of(body.buffer())
    part.acl = body.acl()
    part.flags = body.integer()
    if part.name == "create-ttl":
        body.at += 8


def _ask_version(part: Part, body: Cursor) -> None:
    part.path = body.text()
    part.version = body.integer()


def _ask_set_data(part: Part, body: Cursor) -> None:
    part.path = body.text()
    part.data = sum_of(body.buffer())
    part.version = body.integer()


def _ask_set_acl(part: Part, body: Cursor) -> None:
    part.path = body.text()
    part.acl = body.acl()
    part.version = body.integer()


def _ask_watched(part: Part, body: Cursor) -> None:
    part.path = body.text()
    watch = body.frame[body.at : body.at + 1]
    body.at += 1
    if isinstance(part, Request):  # within a multi-read nobody watches
        part.watch = watch == b"\x01"


def _ask_mode(part: Part, body: Cursor) -> None:
    part.path = body.text()
    if isinstance(part, Request):
        part.mode = body.integer()


def _ask_auth(part: Part, body: Cursor) -> None:
    """The id is what access control lists have: its hash, not the password."""
    body.at += 4
    scheme, proof = body.text(), body.buffer()
    name = ""
    if scheme == "digest":
        hashed = b64encode(sha1(proof, usedforsecurity=False).digest()).decode()
        name = f"{proof.partition(b':')[0].decode(errors='replace')}:{hashed}"
    if isinstance(part, Request):
        part.who = (scheme, name)


def _ask_set_watches(part: Part, body: Cursor) -> None:
    if isinstance(part, Request):
        (part.since,) = _LONG.unpack_from(body.frame, body.at)
        body.at += 8
        for _ in range(3 if part.name == "set-watches" else 5):
            part.watches.append([body.text() for _ in range(max(0, body.integer()))])


ASKS: dict[str, Callable[[Part, Cursor], None]] = {
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


def _tell_made(part: Part, body: Cursor) -> None:
    part.made = body.text()


def _tell_made_and_stat(part: Part, body: Cursor) -> None:
    part.made = body.text()
    part.stat = body.stat()


def _tell_stat(part: Part, body: Cursor) -> None:
    part.stat = body.stat()


def _tell_data(part: Part, body: Cursor) -> None:
    part.told = sum_of(body.buffer())
    part.stat = body.stat()


def _tell_acl(part: Part, body: Cursor) -> None:
    part.acl = body.acl()
    part.stat = body.stat()


def _tell_children(part: Part, body: Cursor) -> None:
    part.children = body.names()
    if part.name == "get-children2":
        part.stat = body.stat()


def _tell_count(part: Part, body: Cursor) -> None:
    part.count = body.integer()


TELLS: dict[str, Callable[[Part, Cursor], None]] = {
    "create": _tell_made,
    **dict.fromkeys(("create2", "create-container", "create-ttl"), _tell_made_and_stat),
    **dict.fromkeys(("exists", "set-data", "set-acl"), _tell_stat),
    "get-data": _tell_data,
    "get-acl": _tell_acl,
    **dict.fromkeys(("get-children", "get-children2", "get-ephemerals"), _tell_children),
    "count-children": _tell_count,
}


def ask_parts(body: Cursor) -> list[Part]:
    """The parts of a ``multi`` or ``multi-read``."""
    parts: list[Part] = []
    while True:
        opcode, done, _ = _PART.unpack_from(body.frame, body.at)
        body.at += _PART.size
        if done:
            return parts
        part = Part(NAMES.get(opcode, f"{UNNAMED}{opcode}"))
        ASKS[part.name](part, body)
        parts.append(part)


def tell_parts(parts: list[Part], body: Cursor) -> None:
    """Add their results to the parts of a ``multi`` or ``multi-read``."""
    for part in parts:
        opcode, done, error = _PART.unpack_from(body.frame, body.at)
        body.at += _PART.size
        if done:
            return
        if opcode == -1:
            part.error = body.integer()
            continue
        part.error = error
        tell = _tell_made_and_stat if opcode in (15, 19, 21) else TELLS.get(part.name)
        if tell is not None:
            tell(part, body)
