"""Connections that lose, delay, repeat or reorder some watch events."""

from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.serving.client_connection import MILLISECOND, ClientConnection
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer

SHARE = 0.2
"""The share of events that are lost, delayed, repeated or reordered."""
RARELY = 0.02
"""The share of events that a server loses rarely."""
FAULTY_SERVER = 1
"""The id of the server that loses events rarely."""
DELAY = 500 * MILLISECOND
LONGEST_WAIT = 200 * MILLISECOND
"""A reordered event is sent after this time if no other event has been sent before."""


class FaultyEvents(ClientConnection):
    """Treats randomly chosen events wrongly; the choice depends on the world's seed."""

    def __init__(self, server: ZooKeeperServer, transport: Transport) -> None:
        super().__init__(server, transport)
        host, port = transport.remote
        self._random = server.simulator.random(f"spoilt events to {host}:{port}").random

    def send_event(self, kind: int, path: str) -> None:
        """Pass one event in five to ``_mishandle``, and send the others."""
        if self._random() < SHARE:
            self._mishandle(kind, path)
        else:
            super().send_event(kind, path)

    def _mishandle(self, kind: int, path: str) -> None:
        raise NotImplementedError


class LosesEvents(FaultyEvents):
    """The event is not sent, though its watch is removed."""

    def _mishandle(self, kind: int, path: str) -> None:
        """Send nothing."""


class DelaysEvents(FaultyEvents):
    """The event is sent half a second later, after replies that show the new data."""

    def _mishandle(self, kind: int, path: str) -> None:
        self.server.process.call_later(DELAY, ClientConnection.send_event, self, kind, path)


class DoublesEvents(FaultyEvents):
    """The event is sent twice."""

    def _mishandle(self, kind: int, path: str) -> None:
        for _ in range(2):
            ClientConnection.send_event(self, kind, path)


class ReordersEvents(FaultyEvents):
    """The event is sent after the one that follows it."""

    def __init__(self, server: ZooKeeperServer, transport: Transport) -> None:
        super().__init__(server, transport)
        self._waiting: list[tuple[int, str]] = []

    def send_event(self, kind: int, path: str) -> None:
        """Send this event, and then the reordered ones before it."""
        super().send_event(kind, path)
        if (kind, path) not in self._waiting:
            self._release()

    def _mishandle(self, kind: int, path: str) -> None:
        self._waiting.append((kind, path))
        self.server.process.call_later(LONGEST_WAIT, self._release)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for kind, path in waiting:
            ClientConnection.send_event(self, kind, path)


class RarelyLosesEvents(FaultyEvents):
    """One event in 50 is not sent, by server 1 only."""

    def send_event(self, kind: int, path: str) -> None:
        """Send an event, or lose it."""
        faulty = self.server.settings.server_id == FAULTY_SERVER
        if not (faulty and self._random() < RARELY):
            ClientConnection.send_event(self, kind, path)


MUTANTS = (
    ServerMutant(
        "lost-events",
        "do not send one watch event in five",
        GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"missed-event", "wrong-event"}),
        {ClientConnection: LosesEvents},
    ),
    ServerMutant(
        "late-events",
        "send one watch event in five half a second after the change that it reports",
        GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"late-event", "wrong-event"}),
        {ClientConnection: DelaysEvents},
    ),
    ServerMutant(
        "doubled-events",
        "send one watch event in five twice",
        GUIDE + "Semantics of Watches: one-time trigger",
        "watch",
        "looks-again",
        frozenset({"repeated-event", "wrong-event"}),
        {ClientConnection: DoublesEvents},
    ),
    ServerMutant(
        "reordered-events",
        "send one watch event in five after the one that follows it",
        GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"reordered-event", "wrong-event"}),
        {ClientConnection: ReordersEvents},
    ),
    ServerMutant(
        "rarely-lost-events",
        "do not send one watch event in 50, on one server only",
        GUIDE + "What ZooKeeper Guarantees about Watches",
        "watch",
        "looks-again",
        frozenset({"wrong-event"}),
        {ClientConnection: RarelyLosesEvents},
    ),
)
