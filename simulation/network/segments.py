"""What travels along a connection: bytes, whole messages, and marks in the stream."""

from typing import Any, Final


class Message:
    """An object that arrives whole or not at all, and counts as so many bytes."""

    __slots__ = ("body", "size")

    def __init__(self, body: Any, size: int) -> None:
        self.body = body
        self.size = size


class Mark:
    """An event in the stream that has no bytes, such as its end."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


HELLO: Final = Mark("hello")
"""The handshake's last ACK: now the server's program gets the connection."""
FIN: Final = Mark("fin")
"""The end of the stream."""
BROKEN: Final = Mark("broken")
"""The connection broke; stands behind the data that were received before."""

Segment = bytes | Message | Mark


def size_of(segment: Segment) -> int:
    """How many bytes of buffer space a segment takes."""
    if isinstance(segment, bytes):
        return len(segment)
    return segment.size if isinstance(segment, Message) else 0
