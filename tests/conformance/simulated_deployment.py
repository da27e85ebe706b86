"""Simulated servers, as the checks want them: the world goes on while a client waits.

Time is virtual: a check that waits for a minute takes no longer than the world has to do in it.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.settings import Settings
from tests.conformance.docker_deployment import WORDS

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process

CLIENT_HOST = "10.1.0.1"
"""Servers take the name of a client's host for its address."""
CONNECT_S = 5.0

_SETTINGS: dict[str, tuple[str, Any]] = {
    "znode.container.checkIntervalMs": ("container_check_interval", int),
    "extendedTypesEnabled": ("extended_types", lambda text: text == "true"),
    "reconfigEnabled": ("reconfig", lambda text: text == "true"),
    "skipACL": ("skip_acl", lambda text: text == "yes"),
}
_WITHOUT_MEANING = frozenset({"preAllocSize"})
"""Settings of what a simulated server does not do."""


class VirtualClock:
    """The time of a simulated world, in which the network takes a little."""

    lateness = 0.05

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def now(self) -> float:
        return self._simulator.now / SECOND

    def sleep(self, seconds: float) -> None:
        self._simulator.run(self._simulator.now + round(seconds * SECOND))


class VirtualChannel:
    """A connection of a client outside the world to a server inside; a `Receiver` too."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._arrived: deque[bytes] = deque()
        self._waits = False
        self.transport: Transport | None = None
        self.error: OSError | None = None
        self.over = False

    def connected(self, transport: Transport) -> "VirtualChannel":
        """The receiver of a connection that is open now."""
        self.transport = transport
        self._news()
        return self

    def failed(self, error: OSError) -> None:
        """It cannot be opened."""
        self.error = error
        self._news()

    def data_received(self, data: bytes) -> None:
        self._arrived.append(data)
        self._news()

    def eof_received(self) -> None:
        self.over = True
        self._news()

    def connection_lost(self, _: OSError | None) -> None:
        self.over = True
        self._news()

    def _news(self) -> None:
        if self._waits:
            self._simulator.stop()

    def wait(self, seconds: float) -> None:
        """Let the world go on until something happens here."""
        self._waits = True
        self._simulator.run(self._simulator.now + round(seconds * SECOND))
        self._waits = False

    def send(self, data: bytes) -> None:
        if not self.over and self.transport is not None:
            self.transport.write(data)

    def receive(self, timeout: float) -> bytes | None:
        if not self._arrived and not self.over:
            self.wait(timeout)
        if self._arrived:
            return self._arrived.popleft()
        return b"" if self.over else None

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()
        self.over = True


class SimulatedServer:
    """A client port inside the world."""

    def __init__(self, deployment: "SimulatedDeployment", node: str) -> None:
        self._deployment = deployment
        self._node = node
        self.clock = deployment.clock
        self.tick_ms = deployment.tick_ms

    def open(self) -> VirtualChannel:
        return self._deployment.connect((self._node, 2181))


class SimulatedDeployment:
    """See `tests.conformance.deployment.Deployment`.

    Args:
        nodes: one is a standalone server.
        tick_ms: ``tickTime``.
        properties: system properties of ZooKeeper, without the prefix ``zookeeper.``.
        seed: of the world.
    """

    kind = "simulated"

    def __init__(
        self,
        nodes: int = 1,
        *,
        tick_ms: int = 2000,
        properties: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.tick_ms = tick_ms
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        overrides = {
            _SETTINGS[name][0]: _SETTINGS[name][1](value)
            for name, value in (properties or {}).items()
            if name not in _WITHOUT_MEANING
        }
        settings = Settings(tick_time=tick_ms, four_letter_words=frozenset(WORDS.split(",")))
        self.cluster = Cluster(self.simulator, self.network, nodes, settings=settings, **overrides)
        self.nodes = self.cluster.nodes
        self.clock = VirtualClock(self.simulator)
        self._client: Process = self.simulator.process("client", CLIENT_HOST)

    def connect(self, address: tuple[str, int]) -> VirtualChannel:
        """A connection from the client's host.

        Raises:
            OSError: refused.
        """
        channel = VirtualChannel(self.simulator)
        timeout = round(CONNECT_S * SECOND)
        self.network.connect(self._client, address, channel.connected, channel.failed, timeout)
        if channel.transport is None and channel.error is None:
            channel.wait(2 * CONNECT_S)
        if channel.error is not None:
            raise channel.error
        assert channel.transport is not None
        return channel

    def server(self, node: str = "n1") -> SimulatedServer:
        return SimulatedServer(self, node)

    def start(self, nodes: Iterable[str] | None = None) -> None:
        self.cluster.start(nodes)

    def kill(self, node: str) -> None:
        self.cluster.kill(node)

    def pause(self, node: str) -> None:
        self.cluster.pause(node)

    def resume(self, node: str) -> None:
        self.cluster.resume(node)

    def running(self, node: str) -> bool:
        return self.cluster.running(node)

    def partition(self, grudge: Mapping[str, frozenset[str]]) -> None:
        self.network.heal()
        self.network.partition(grudge)

    def heal(self) -> None:
        self.network.heal()

    def files(self, node: str) -> dict[str, bytes]:
        disk = self.cluster.disks[node]
        return {path.rpartition("/")[2]: disk.read(path) for path in disk.list("version-2/")}

    def write_file(self, node: str, name: str, content: bytes) -> None:
        self.cluster.disks[node].write_whole(f"version-2/{name}", content)

    def last_words(self, node: str) -> str:
        """Why a server's program has ended."""
        return str(self.cluster.exit_reason(node))

    def tear_down(self) -> None:
        self.simulator.close()
