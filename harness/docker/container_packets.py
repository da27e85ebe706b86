"""Packets between servers in containers that are lost at random, or arrive late.

Both are done where packets arrive: by the packet filter of the node's network, which drops them, or
queues them for a program that lets them pass later (``docker/zookeeper/packet-delay.c``). Other
packets are untouched, and nothing is between servers while no such fault is in force.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rumpus.harness.docker import packet_filter
from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.ensemble import EnvironmentRefusal, Losses, Slowness


class ContainerPackets:
    """Implements ``harness.ensemble.Packets``.

    Args:
        nodes: the ensemble's nodes, by name; none before it starts.
        everywhere: does something at all nodes, and waits for all.
    """

    def __init__(
        self,
        nodes: Callable[[], Mapping[str, DockerNode]],
        everywhere: Callable[[Callable[[DockerNode], Any]], dict[str, Any]],
    ) -> None:
        self._nodes = nodes
        self._everywhere = everywhere
        self._late: dict[str, dict[str, Slowness]] = {}
        """What was asked for; the numbers of queues are places in it."""

    def lose(self, losses: Losses) -> None:
        """Lose packets at random, in place of earlier losses.

        Raises:
            EnvironmentRefusal: the packet filter cannot be set here.
        """
        nodes = self._nodes()

        def load(node: DockerNode) -> None:
            shares = {nodes[name].ip: s for name, s in losses.get(node.name, {}).items()}
            self._run(node, packet_filter.loss_script(shares), "so no packets can be lost here")

        self._everywhere(load)

    def losses(self) -> dict[str, dict[str, float]]:
        """What is lost, as read back from the nodes' packet filters; only nodes that lose any."""
        found = {
            name: {source: share for source, (share, _) in lost.items()}
            for name, lost in self._read_losses().items()
        }
        return {name: lost for name, lost in found.items() if lost}

    def lost(self) -> int:
        """How many packets were lost since ``lose`` was last called, by the filters' counters."""
        return sum(count for lost in self._read_losses().values() for _, count in lost.values())

    def slow_down(self, node: str, links: Mapping[str, Slowness]) -> None:
        """Have packets from these servers arrive late at a node, in place of what was late there.

        Raises:
            EnvironmentRefusal: the packet filter cannot be set here.
        """
        nodes = self._nodes()
        self._late[node] = dict(links)
        sources = {nodes[source].ip: slowness for source, slowness in links.items()}
        self._run(nodes[node], packet_filter.delay_script(sources), "so none can be late here")

    def slowness(self) -> dict[str, dict[str, Slowness]]:
        """What is late: what was asked for of links whose packets are queued, and let pass."""
        queued = self._read(packet_filter.QUEUES_SCRIPT, packet_filter.queued)
        found = {
            name: {
                source: slowness
                for source, slowness in self._late.get(name, {}).items()
                if source in queues
            }
            for name, queues in queued.items()
        }
        return {name: late for name, late in found.items() if late}

    def slowed(self) -> int:
        """How many packets were late since ``slow_down`` was last called, by the counters."""
        queued = self._read(packet_filter.QUEUES_SCRIPT, packet_filter.queued)
        return sum(count for queues in queued.values() for count in queues.values())

    def _read_losses(self) -> dict[str, dict[str, tuple[float, int]]]:
        """Node -> the node whose packets it loses -> their share, and how many it has lost."""
        return self._read(packet_filter.COUNTED_SCRIPT, packet_filter.lossy)

    def _read(self, script: str, parse: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
        """Node -> node -> what is parsed of the address of the second in what a script prints."""
        name_of = {node.ip: node.name for node in self._nodes().values()}

        def read(node: DockerNode) -> dict[str, Any]:
            if node.state() in ("removed", "unplugged"):
                return {}
            code, said = node.run_in_network(script)
            if code:
                raise EnvironmentRefusal(
                    f"the packet filter of {node.name} cannot be read (iptables says: "
                    f"{said.strip()})"
                )
            return {name_of[ip]: found for ip, found in parse(said).items()}

        return self._everywhere(read)

    @staticmethod
    def _run(node: DockerNode, script: str, so: str) -> None:
        code, said = node.run_in_network(script)
        if code:
            raise EnvironmentRefusal(
                f"the packet filter of {node.name} cannot be set, {so} (it says: {said.strip()})"
            )
