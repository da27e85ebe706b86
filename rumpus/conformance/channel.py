"""A byte stream to a server, on real sockets or inside a simulated world."""

import contextlib
import socket
import time
from typing import Protocol


class Channel(Protocol):
    """One connection. Times are seconds of the world that the server lives in."""

    def send(self, data: bytes) -> None:
        """Send all; what a server that has hung up does not take is lost silently."""

    def receive(self, timeout: float) -> bytes | None:
        """What comes next; b"" if the server has hung up, None if nothing came in time."""

    def close(self) -> None:
        """Hang up without a word."""


class Clock(Protocol):
    """Time as the server's world has it.

    ``lateness``: seconds by which a busy machine may delay whatever a server does.
    """

    lateness: float

    def now(self) -> float:
        """Seconds since some beginning; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class RealClock:
    """The time of this machine."""

    lateness = 10.0

    def now(self) -> float:
        """Seconds on the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class SocketChannel:
    """A TCP connection.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, address: tuple[str, int], timeout: float = 5.0) -> None:
        self._socket = socket.create_connection(address, timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """Send all; what a server that has hung up does not take is lost."""
        self._socket.settimeout(10.0)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def receive(self, timeout: float) -> bytes | None:
        """What comes next; b"" if the server has hung up, None if nothing came in time."""
        self._socket.settimeout(max(timeout, 0.001))
        try:
            return self._socket.recv(1 << 16)
        except TimeoutError:
            return None
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
