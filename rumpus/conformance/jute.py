"""Jute's binary encoding, written for the checks alone: they share no code with what they test."""

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def int32(value: int) -> bytes:
    """A signed integer of four bytes."""
    return struct.pack(">i", value)


def int64(value: int) -> bytes:
    """A signed integer of eight bytes."""
    return struct.pack(">q", value)


def boolean(value: bool) -> bytes:
    """One byte."""
    return b"\1" if value else b"\0"


def buffer(value: bytes | None) -> bytes:
    """Bytes with their length; None: a length of -1."""
    return int32(-1) if value is None else int32(len(value)) + value


def ustring(value: str | None) -> bytes:
    """A text as UTF-8 in a buffer."""
    return buffer(None if value is None else value.encode())


def vector(elements: Iterable[bytes] | None) -> bytes:
    """A count and so many encoded elements; None: a count of -1."""
    if elements is None:
        return int32(-1)
    encoded = list(elements)
    return int32(len(encoded)) + b"".join(encoded)


class Reader:
    """Reads values one after the other; raises ValueError where bytes are missing."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        """The next so many bytes."""
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise ValueError(f"{count} bytes wanted at {self.at} of {self.data!r}")
        self.at += count
        return taken

    def int32(self) -> int:
        """A signed integer of four bytes."""
        value: int = struct.unpack(">i", self.take(4))[0]
        return value

    def int64(self) -> int:
        """A signed integer of eight bytes."""
        value: int = struct.unpack(">q", self.take(8))[0]
        return value

    def boolean(self) -> bool:
        """One byte."""
        return self.take(1) != b"\0"

    def buffer(self) -> bytes | None:
        """Bytes with their length; None for a length of -1."""
        length = self.int32()
        return None if length == -1 else self.take(length)

    def ustring(self) -> str | None:
        """A text; None for a length of -1."""
        value = self.buffer()
        return None if value is None else value.decode()

    def vector(self, element: Callable[[], T]) -> list[T] | None:
        """A list whose elements are read by a function; None for a count of -1."""
        count = self.int32()
        return None if count == -1 else [element() for _ in range(count)]

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self.data) - self.at)
