import socket
import time
from collections.abc import Callable

import pytest

from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.simulated import workers
from tests.harness import shared_leaks
from tests.harness.wires import Wires

PATIENCE = 20.0  # seconds; only a broken link ever waits so long


class ProcessWires(Wires):
    """The links are a process of their own, the connections real ones on the loopback."""

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
    playing = ProcessWires()
    yield playing
    playing.close()


@pytest.fixture
def leaks_are_shared(monkeypatch):
    """Have clients share the leaky module, as they share what cannot be private."""
    shared = (*workers.SHARED, shared_leaks.__name__)
    monkeypatch.setattr(workers, "SHARED", shared)
