"""Connections whose watch events are lost, late, doubled or out of order, one in five of them."""

from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.serving.client_connection import MILLISECOND, ClientConnection
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer

SHARE = 0.2
"""The share of events that are lost, late, doubled or reordered."""
LATE = 500 * MILLISECOND
OVERTAKEN = 200 * MILLISECOND
"""An event that waits for another one to overtake it waits no longer than this."""


class SpoiltEvents(ClientConnection):
    """Spoils some events, by the seed of the world."""

    def __init__(self, server: ZooKeeperServer, transport: Transport) -> None:
        super().__init__(server, transport)
        host, port = transport.remote
        self._random = server.simulator.random(f"spoilt events to {host}:{port}").random

    def send_event(self, kind: int, path: str) -> None:
        """Spoil one event in five."""
        if self._random() < SHARE:
            self._spoil(kind, path)
        else:
            super().send_event(kind, path)

    def _spoil(self, kind: int, path: str) -> None:
        raise NotImplementedError

    def _send_late(self, delay: int, kind: int, path: str) -> None:
        self.server.process.call_later(delay, super().send_event, kind, path)


class LosesEvents(SpoiltEvents):
    """The event is not sent; its watch is used up."""

    def _spoil(self, kind: int, path: str) -> None:
        """Send nothing."""


class DelaysEvents(SpoiltEvents):
    """The event is sent half a second later, after replies that show the new data."""

    def _spoil(self, kind: int, path: str) -> None:
        self._send_late(LATE, kind, path)


class DoublesEvents(SpoiltEvents):
    """The event is sent twice."""

    def _spoil(self, kind: int, path: str) -> None:
        for _ in range(2):
            ClientConnection.send_event(self, kind, path)


class ReordersEvents(SpoiltEvents):
    """The event is sent after the one that follows it."""

    def __init__(self, server: ZooKeeperServer, transport: Transport) -> None:
        super().__init__(server, transport)
        self._waiting: list[tuple[int, str]] = []

    def send_event(self, kind: int, path: str) -> None:
        """Send this event, and then those that it has overtaken."""
        super().send_event(kind, path)
        if (kind, path) not in self._waiting:
            self._release()

    def _spoil(self, kind: int, path: str) -> None:
        self._waiting.append((kind, path))
        self.server.process.call_later(OVERTAKEN, self._release)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for kind, path in waiting:
            ClientConnection.send_event(self, kind, path)
