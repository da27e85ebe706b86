"""A cluster in a world of its own, and conformance's raw clients of it on virtual time."""

from typing import Any

from rumpus.conformance.raw_client import RawClient
from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from tests.conformance.simulated_deployment import VirtualChannel, VirtualClock

CLIENT_HOST = "10.1.0.1"

ALL_WORDS = frozenset(
    {"conf", "cons", "crst", "dump", "envi", "isro", "mntr", "ruok", "srst", "srvr", "stat"}
    | {"wchc", "wchp", "wchs"}
)


class World:
    """Servers "n1" to "nN", and clients on one host; time passes while a client waits.

    Good for the conformance checks that need nothing but a server.

    Args:
        count: voting servers.
        seed: of the world.
        observers: further servers.
        overrides: of the servers' settings.
    """

    def __init__(
        self, count: int = 1, seed: int = 1, *, observers: int = 0, **overrides: Any
    ) -> None:
        overrides = {"four_letter_words": ALL_WORDS, **overrides}
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        self.cluster = Cluster(
            self.simulator, self.network, count, observers=observers, **overrides
        )
        self.nodes = self.cluster.nodes
        self.tick_ms: int = self.cluster.programs["n1"].settings.tick_time
        self.clock = VirtualClock(self.simulator)
        self.client_process = self.simulator.process("client", CLIENT_HOST)

    def start(self) -> None:
        """Start all servers, and wait until they serve."""
        self.cluster.start()
        for _ in range(1000):
            if all(self.cluster.serves(node) for node in self.nodes):
                return
            self.run_for(10)
        raise AssertionError({node: self.cluster.mode(node) for node in self.nodes})

    def tear_down(self) -> None:
        self.simulator.close()

    def run_for(self, milliseconds: float) -> None:
        self.simulator.run(self.simulator.now + int(milliseconds * MILLISECOND))

    def server(self, node: str = "n1") -> "Port":
        return Port(self, node)

    def connect(self, node: str = "n1") -> RawClient:
        """A connection without a session.

        Raises:
            OSError: refused, or nobody answers.
        """
        return RawClient(self.server(node).open(), self.clock)

    def session(self, node: str = "n1", timeout_ms: int = 20_000, **how: Any) -> RawClient:
        client = self.connect(node)
        answer = client.handshake(timeout_ms, **how)
        assert answer.valid, f"no session: {answer}"
        return client

    def reattach(self, old: RawClient, node: str = "n1", timeout_ms: int = 20_000) -> RawClient:
        return self.session(
            node,
            timeout_ms,
            session=old.session,
            password=old.password,
            last_zxid=old.last_zxid,
        )

    def word(self, word: str, node: str = "n1") -> str:
        client = self.connect(node)
        client.send_bytes(word.encode())
        answer = client.receive_all().decode()
        client.hang_up()
        return answer


class Port:
    """A node's client port."""

    def __init__(self, world: World, node: str) -> None:
        self._world = world
        self._node = node
        self.clock = world.clock
        self.tick_ms = world.tick_ms

    def open(self) -> VirtualChannel:
        world = self._world
        channel = VirtualChannel(world.simulator)
        world.network.connect(
            world.client_process,
            (self._node, 2181),
            channel.connected,
            channel.failed,
            5 * SECOND,
        )
        channel.wait(10)
        if channel.error is not None:
            raise channel.error
        assert channel.transport is not None
        return channel
