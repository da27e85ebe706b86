"""The messages between the control process and a client's process.

A frame is a four-byte big-endian length and a msgpack body. The channel closes when either
process ends.
"""

import struct
from typing import Any, Generic, TypeVar

import msgspec

from rumpus.checker.history import Op, OpType, Process
from rumpus.harness.links.links import Refusal


class Open(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Go on as this process, one of Jepsen's logical processes. Answered with ``Ready``.

    A client that is not open yet, or whose last operation raised, begins with a new session.
    """

    process: int


class Perform(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Perform one operation. Answered with two ``Record``: its invoke and its completion.

    ``final``: the load is over, and every fault is healed.
    """

    process: int
    f: str
    value: Any = None
    final: bool = False


class Acted(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """The witness's answer to ``Act``: whether it was accepted, and its place in the order."""

    accepted: bool
    order: int


class Refused(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """The answer to ``Refuse``: the service refuses the session."""


Command = Open | Perform | Acted | Refused


class Ready(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """The client is open as this process.

    ``connected`` tells whether it has a session yet; ``library`` is the version of the client
    library (kazoo, Curator) that it has loaded.
    """

    process: int
    connected: bool
    library: str


class Record(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Something for the history, with the time at which it happened at the sender."""

    time: int
    process: Process
    type: OpType
    f: str
    value: Any = None
    error: str | None = None

    def op(self) -> Op:
        """This as a record of the history, still without an index."""
        return Op(
            time=self.time,
            process=self.process,
            type=self.type,
            f=self.f,
            value=self.value,
            error=self.error,
        )


class Act(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """An action on the protected resource under a fencing token (None: without one)."""

    process: int
    token: int | None


class Refuse(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Ask the service to refuse a session; ``how`` as in ``harness.links.links.Refusal``."""

    session: int
    how: Refusal


Report = Ready | Record | Act | Refuse

Message = TypeVar("Message")

_LENGTH = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()


def frame(message: msgspec.Struct) -> bytes:
    """A message as a frame on the channel."""
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


class Frames(Generic[Message]):
    """Collects bytes and gives whole messages.

    Args:
        kind: the type of the messages, a union of tagged structs.
    """

    def __init__(self, kind: Any) -> None:
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes complete, in order.

        Raises:
            msgspec.DecodeError: the bytes are no message: the other side is not one of ours.
        """
        buffer = self._buffer
        buffer += data
        messages = []
        at = 0
        while len(buffer) - at >= 4:
            (length,) = _LENGTH.unpack_from(buffer, at)
            if len(buffer) - at - 4 < length:
                break
            messages.append(self._decoder.decode(buffer[at + 4 : at + 4 + length]))
            at += 4 + length
        del buffer[:at]
        return messages
