"""Interfaces of a connection's ends, in the manner of asyncio's transports and protocols."""

from typing import Any, Protocol


class Receiver(Protocol):
    """What a program does with a connection. All calls come in the main loop of the world.

    The calls are held back while the program's process is frozen, and never come once it is
    dead.
    """

    def data_received(self, data: Any) -> None:
        """A chunk has arrived: bytes, or a message as it was written (``write_message``)."""

    def eof_received(self) -> None:
        """The other side will send nothing more. Sending is still possible."""

    def connection_lost(self, error: OSError | None) -> None:
        """The connection is over: closed by ``close`` (None), reset, or timed out."""


class Transport(Protocol):
    """One end of a connection. None of these calls blocks or raises for a lost connection."""

    local: tuple[str, int]
    """Host and port of this end."""
    remote: tuple[str, int]
    """Host and port of the other end."""
    identity: int
    """The connection's number in this world; both ends have the same."""
    receiver: Receiver
    """Who is told of what arrives; may be replaced."""

    def write(self, data: bytes) -> None:
        """Send bytes, in order. What the buffers have no room for is kept and sent later."""

    def write_message(self, message: Any, size: int) -> None:
        """Send an object that arrives whole or not at all, as if it had ``size`` bytes."""

    def write_eof(self) -> None:
        """Send the end of the stream after all kept bytes; receiving goes on."""

    def unsent(self) -> int:
        """How many bytes are kept because the buffers have no room; for back pressure."""

    def untaken(self) -> int:
        """How many bytes were written here and have not been taken by the other program."""

    def kept(self) -> int:
        """How many bytes are kept for that: those, and what a gate on the way keeps."""

    def wait_writable(self) -> None:
        """Have ``receiver.writable()`` called (if it has one) once ``unsent`` is 0."""

    def pause_reading(self) -> None:
        """Stop receiving; the other side fills the buffers, and then keeps its data."""

    def resume_reading(self) -> None:
        """Receive again."""

    def put_back(self, data: bytes) -> None:
        """Not take the end of what was received last: it comes again. Reading has been paused."""

    def close(self) -> None:
        """Send all kept bytes, then the end of the stream; nothing is received any more."""

    def abort(self) -> None:
        """Reset the connection: kept bytes are lost, the other side gets ``ECONNRESET``."""

    def discard(self) -> None:
        """Reset the connection at once, and both ends forget all bytes, whoever has closed it."""
