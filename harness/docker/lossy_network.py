"""Packets between servers in containers that are lost at random, by their packet filters."""

from collections.abc import Callable, Mapping
from typing import Any

from rumpus.harness.docker import packet_filter
from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.ensemble import EnvironmentRefusal, Losses


class LossyNetwork:
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

    def lose(self, losses: Losses) -> None:
        """Lose packets at random, in place of earlier losses.

        Raises:
            EnvironmentRefusal: the packet filter cannot be set here.
        """
        nodes = self._nodes()

        def load(node: DockerNode) -> None:
            shares = {nodes[name].ip: s for name, s in losses.get(node.name, {}).items()}
            code, said = node.run_in_network(packet_filter.loss_script(shares))
            if code:
                raise EnvironmentRefusal(
                    f"the packet filter of {node.name} cannot be set, so no packets can be lost "
                    f"here (iptables says: {said.strip()})"
                )

        self._everywhere(load)

    def losses(self) -> dict[str, dict[str, float]]:
        """What is lost, as read back from the nodes' packet filters; only nodes that lose any."""
        found = {
            name: {source: share for source, (share, _) in lost.items()}
            for name, lost in self._read().items()
        }
        return {name: lost for name, lost in found.items() if lost}

    def lost(self) -> int:
        """How many packets were lost since ``lose`` was last called, by the filters' counters."""
        return sum(count for lost in self._read().values() for _, count in lost.values())

    def _read(self) -> dict[str, dict[str, tuple[float, int]]]:
        """Node -> the node whose packets it loses -> their share, and how many it has lost."""
        name_of = {node.ip: node.name for node in self._nodes().values()}

        def read(node: DockerNode) -> dict[str, tuple[float, int]]:
            if node.state() in ("removed", "unplugged"):
                return {}
            code, said = node.run_in_network(packet_filter.COUNTED_SCRIPT)
            if code:
                raise EnvironmentRefusal(
                    f"the packet filter of {node.name} cannot be read (iptables says: "
                    f"{said.strip()})"
                )
            return {name_of[ip]: lost for ip, lost in packet_filter.lossy(said).items()}

        return self._everywhere(read)
