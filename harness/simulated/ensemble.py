"""An ensemble of simulated ZooKeeper servers. Calls that block wait in virtual time."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from rumpus.checker.servers.server_truth import TRUE_TIMES
from rumpus.harness.ensemble import (
    Availability,
    Capability,
    Containers,
    Disks,
    EnvironmentRefusal,
    Grudge,
    NodeState,
    Packets,
    WallClocks,
)
from rumpus.harness.simulated.machines import SimMachines
from rumpus.harness.zookeeper_versions import USUAL_VERSION
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.export import export

if TYPE_CHECKING:
    from rumpus.harness.simulated_faults import Machines
    from rumpus.harness.upgrades import Upgrades

START_S = 60.0
"""How long the servers may take until all of them serve, in virtual seconds."""

_POLL_S = 0.05


OFFERED: Final[Mapping[Capability, Availability]] = {
    **dict.fromkeys(
        (
            *("kill", "pause", "partition", "delay", "loss", "clock", "stall", "triggers"),
            *("full-disk", "disk-journal"),
            "simulation",
        ),
        Availability(True),
    ),
    "upgrade": Availability(
        False,
        f"simulated servers all behave as ZooKeeper {USUAL_VERSION}; real ones have versions "
        "(--ensemble docker)",
    ),
}
"""What simulated servers can do, on every host."""


class SimEnsemble:
    """Servers ``n1`` to ``n<nodes>`` on hosts of these names; see `harness.ensemble.Ensemble`.

    Args:
        cluster: the servers, not started.
        network: the network of the servers' simulated world.
        sleep: lets the task that calls it wait for virtual seconds.
        report: told of every step, in a few words.
    """

    kind = "sim"

    def __init__(
        self,
        cluster: Cluster,
        network: Network,
        *,
        sleep: Callable[[float], None],
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.nodes = tuple(cluster.nodes)
        self.cluster = cluster
        machines = SimMachines(cluster, network)
        self.machines: Machines | None = machines
        self.clocks: WallClocks | None = machines
        self.containers: Containers | None = None
        self.upgrades: Upgrades | None = None
        self.packets: Packets | None = machines
        self.disks: Disks | None = machines
        self._addresses = dict(zip(cluster.nodes, cluster.addresses, strict=True))
        self._network = network
        self._sleep = sleep
        self._report = report
        self._started = False

    def start(self) -> None:
        """Bring all servers up and return once a leader is there and every node serves.

        Raises:
            EnvironmentRefusal: they do not all serve, with a leader, in time.
        """
        self._report(f"starting {len(self.nodes)} servers")
        self._started = True
        self.cluster.start()
        left = START_S
        while not (self.leader() and all(map(self.serves, self.nodes))):
            if left <= 0:
                silent = ", ".join(node for node in self.nodes if not self.serves(node))
                raise EnvironmentRefusal(
                    f"simulated servers did not serve within {START_S:g} virtual seconds "
                    f"({silent or 'no leader'}): this is a defect of the simulation; its seed is "
                    "needed to find it"
                )
            self._sleep(_POLL_S)
            left -= _POLL_S

    def tear_down(self) -> None:
        """End all servers. Their disks exist until the simulated world ends with the run."""
        if self._started:
            self._started = False
            for node in self.nodes:
                self.cluster.kill(node)

    def client_address(self, node: str) -> tuple[str, int]:
        """Host and port of a node on the simulated network."""
        return self._addresses[node]

    def client_addresses(self) -> dict[str, tuple[str, int]]:
        """The same of all nodes."""
        return dict(self._addresses)

    def kill(self, node: str) -> None:
        """End a server's process; its disk keeps what was written."""
        self.cluster.kill(node)

    def restart(self, node: str) -> None:
        """Start a killed server again on its disk."""
        if self.state(node) == "dead":
            self.cluster.restart(node)

    def pause(self, node: str) -> None:
        """Freeze a server.

        Raises:
            RuntimeError: the server is dead.
        """
        if self.state(node) == "dead":
            raise RuntimeError(f"{node} is dead, and cannot be paused")
        self.cluster.pause(node)

    def resume(self, node: str) -> None:
        """Unfreeze a server; nothing happens if it is not paused."""
        if self.state(node) == "paused":
            self.cluster.resume(node)

    def partition(self, grudge: Grudge) -> None:
        """Let each node drop all packets from the nodes that its grudge names.

        Raises:
            KeyError: there is no such node.
        """
        named = {*grudge, *(other for others in grudge.values() for other in others)}
        if unknown := named - set(self.nodes):
            raise KeyError(f"no such node: {', '.join(sorted(unknown))}")
        for node in self.nodes:
            for source in self.nodes:
                refused = source in grudge.get(node, ())
                if refused != self._refuses(node, source):
                    (self._network.cut if refused else self._network.mend)(source, node)

    def heal(self) -> None:
        """Let every packet pass again."""
        self.partition({})

    def state(self, node: str) -> NodeState:
        """What the server's process is doing."""
        if not self.cluster.running(node):
            return "dead"
        return "paused" if self.cluster.paused(node) else "running"

    def grudge(self) -> dict[str, frozenset[str]]:
        """The partition in force, read from the network; only nodes with a grudge."""
        refused = {
            node: frozenset(other for other in self.nodes if self._refuses(node, other))
            for node in self.nodes
        }
        return {node: others for node, others in refused.items() if others}

    def applied(self, node: str) -> int:
        """The zxid of the last transaction that a server has applied."""
        return self.cluster.zxid(node)

    def reaches(self, source: str, target: str) -> bool:
        """Whether packets pass both ways between two nodes now, whatever their servers do."""
        return not (self._refuses(source, target) or self._refuses(target, source))

    def serves(self, node: str) -> bool:
        """Whether a node serves as part of a quorum: one that is paused or dead does not."""
        return self.cluster.serves(node) and self.cluster.mode(node) != "read-only"

    def leader(self) -> str | None:
        """The node that leads and serves; if several claim to, the one with the highest zxid."""
        leaders = [
            node
            for node in self.nodes
            if self.cluster.mode(node) in ("leader", "standalone") and self.serves(node)
        ]
        return max(leaders, key=self.cluster.zxid, default=None)

    def gather(self, destination: Path) -> None:
        """Write every node's data files to ``destination/<node>/version-2``, in any state.

        Where servers' clocks were wrong, ``true-times.json`` has the true times of transactions.

        Raises:
            OSError: the destination cannot be written.
        """
        for node in self.nodes:
            place = destination / node
            place.mkdir(parents=True, exist_ok=True)
            export(self.cluster.disks[node], place)
        if times := self.cluster.true_times():
            (destination / TRUE_TIMES).write_bytes(msgspec.json.encode(times))

    def _refuses(self, node: str, source: str) -> bool:
        return self._network.path(source, node).cut

    def probe(self) -> dict[Capability, Availability]:
        """Simulated servers offer all that faults need, except other versions."""
        return dict(OFFERED)
