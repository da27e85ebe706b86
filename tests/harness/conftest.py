import socket
import time
from collections.abc import Callable

import pytest

from rumpus.harness.links.link_process import ProcessLinks

PATIENCE = 20.0  # seconds; only a broken link ever waits so long


class Wires:
    """Two clients' links to three servers that the test itself plays, byte by byte."""

    nodes = ("n1", "n2", "n3")

    def __init__(self) -> None:
        self._listeners = {node: socket.create_server(("127.0.0.1", 0)) for node in self.nodes}
        self._open: list[socket.socket] = list(self._listeners.values())
        for listener in self._open:
            listener.settimeout(PATIENCE)
        servers = {node: ln.getsockname() for node, ln in self._listeners.items()}
        self.links = ProcessLinks(servers, clients=2)

    def dial(self, client: int = 0, node: str = "n1") -> socket.socket:
        """The client's end of a new connection."""
        return self._kept(socket.create_connection(self.links.address(client, node)))

    def accept(self, node: str = "n1") -> socket.socket:
        """The server's end of a connection that came through the links."""
        return self._kept(self._listeners[node].accept()[0])

    def pair(self, client: int = 0, node: str = "n1") -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection: the client's, the server's."""
        dialled = self.dial(client, node)
        return dialled, self.accept(node)

    def is_refused(self, client: int = 0, node: str = "n1") -> bool:
        """Whether a new connection is reset, be it while it is being made."""
        try:
            return self.was_reset(self.dial(client, node))
        except ConnectionResetError:
            return True

    def stop(self, node: str) -> None:
        """From now on nothing listens there."""
        self._listeners[node].close()

    def nobody_called(self, node: str = "n1") -> bool:
        """Whether no connection waits to be accepted by the server."""
        self._listeners[node].setblocking(False)
        try:
            self._kept(self._listeners[node].accept()[0])
        except BlockingIOError:
            return True
        finally:
            self._listeners[node].settimeout(PATIENCE)
        return False

    @staticmethod
    def monotonic_ns() -> int:
        return time.monotonic_ns()

    def close(self) -> None:
        self.links.close()
        for sock in self._open:
            sock.close()

    @staticmethod
    def read(sock: socket.socket, size: int) -> bytes:
        """Exactly so many bytes, or fewer if the stream ends."""
        data = b""
        while len(data) < size and (more := sock.recv(size - len(data))):
            data += more
        return data

    @staticmethod
    def silent(sock: socket.socket) -> bool:
        """Whether there is nothing to read, not even an end, at this moment."""
        sock.setblocking(False)
        try:
            sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        finally:
            sock.settimeout(PATIENCE)
        return False

    @staticmethod
    def was_reset(sock: socket.socket) -> bool:
        """Whether the stream ends with a reset (and not in order), whatever comes before."""
        try:
            while sock.recv(1 << 16):
                pass
        except ConnectionResetError:
            return True
        return False

    @staticmethod
    def eventually(condition: Callable[[], object]) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.002)

    def _kept(self, sock: socket.socket) -> socket.socket:
        sock.settimeout(PATIENCE)
        self._open.append(sock)
        return sock


@pytest.fixture
def wires():
    playing = Wires()
    yield playing
    playing.close()
