"""Jute, ZooKeeper's encoding of records: big-endian, no tags.

A ``Reader`` reads one record; functions that return bytes write fields. Reading an invalid record
raises ``MalformedRecord`` and no other exception.

Source: ``BinaryInputArchive`` and ``BinaryOutputArchive`` of ZooKeeper 3.8.0.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError  # noqa: N812 - the name of a class

from rumpus.simulation.zookeeper.wire.permissions import Acl

INT = Struct(">i")
LONG = Struct(">q")

LONGEST = 2 * 0xFFFFF
"""Twice ``jute.maxbuffer``, in bytes: longer strings and buffers are refused."""

NULL = b"\xff\xff\xff\xff"
"""Length -1: no string, no buffer, no vector."""

write_int = INT.pack
write_long = LONG.pack

_read_int = INT.unpack_from
_read_long = LONG.unpack_from


class MalformedRecord(Exception):  # noqa: N818 - says what the record is
    """A record ends too early, or a length in it is impossible."""


class Reader:
    """Reads one record from its start; ``position`` is where the next field begins."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def read_int(self) -> int:
        """32 bits, signed."""
        position = self.position
        self.position = position + 4
        try:
            return _read_int(self.data, position)[0]  # type: ignore[no-any-return]
        except StructError:
            raise MalformedRecord("an int is cut off") from None

    def read_long(self) -> int:
        """64 bits, signed."""
        position = self.position
        self.position = position + 8
        try:
            return _read_long(self.data, position)[0]  # type: ignore[no-any-return]
        except StructError:
            raise MalformedRecord("a long is cut off") from None

    def read_boolean(self) -> bool:
        """One byte; every value but 0 is true."""
        position = self.position
        self.position = position + 1
        try:
            return self.data[position] != 0
        except IndexError:
            raise MalformedRecord("a boolean is cut off") from None

    def read_buffer(self) -> bytes | None:
        """Bytes, None for null."""
        data = self.data
        start = self.position + 4
        try:
            length = _read_int(data, start - 4)[0]
        except StructError:
            raise MalformedRecord("a length is cut off") from None
        if length < 0 or length > LONGEST:
            if length == -1:
                self.position = start
                return None
            raise MalformedRecord(f"unreasonable length {length}")
        end = start + length
        if end > len(data):
            raise MalformedRecord("a buffer is cut off")
        self.position = end
        return data[start:end]

    def read_string(self) -> str | None:
        """Text, None for null. As in Java, invalid UTF-8 becomes U+FFFD."""
        raw = self.read_buffer()
        return None if raw is None else raw.decode("utf-8", "replace")

    def read_text(self) -> str:
        """A string that must not be null."""
        raw = self.read_buffer()
        if raw is None:
            raise MalformedRecord("a string is null")
        return raw.decode("utf-8", "replace")

    def read_strings(self) -> list[str] | None:
        """A vector of strings without nulls, None for a null vector."""
        count = self.read_int()
        if count == -1:
            return None
        read = self.read_text
        return [read() for _ in range(count)]

    def read_acl(self) -> Acl | None:
        """A vector of ACL entries (permissions, scheme, id), None for a null vector."""
        count = self.read_int()
        if count == -1:
            return None
        integer, text = self.read_int, self.read_text
        return tuple([(integer(), text(), text()) for _ in range(count)])

    def rest(self) -> bytes:
        """The bytes that have not been read."""
        return self.data[self.position :]


def encode_text(text: str) -> bytes:
    """The bytes of a string, without its length.

    As Java does, each half of a surrogate pair is encoded separately (CESU-8).
    """
    if text.isascii() or max(text) <= "\uffff":
        return text.encode("utf-8", "surrogatepass")
    halves = text.encode("utf-16-be", "surrogatepass")
    return b"".join(
        [
            chr(halves[i] << 8 | halves[i + 1]).encode("utf-8", "surrogatepass")
            for i in range(0, len(halves), 2)
        ]
    )


def write_boolean(value: bool) -> bytes:
    """One byte."""
    return b"\x01" if value else b"\x00"


def write_buffer(data: bytes | None) -> bytes:
    """Length and bytes."""
    return NULL if data is None else write_int(len(data)) + data


def write_string(text: str | None) -> bytes:
    """Length in bytes and UTF-8."""
    if text is None:
        return NULL
    raw = text.encode() if text.isascii() else encode_text(text)
    return write_int(len(raw)) + raw


def write_strings(texts: Iterable[str] | None) -> bytes:
    """Count and strings."""
    if texts is None:
        return NULL
    parts = [write_string(text) for text in texts]
    return write_int(len(parts)) + b"".join(parts)


def write_acl(acl: Acl | None) -> bytes:
    """Count and entries."""
    if acl is None:
        return NULL
    return write_int(len(acl)) + b"".join(
        [
            write_int(perms) + write_string(scheme) + write_string(name)
            for perms, scheme, name in acl
        ]
    )
