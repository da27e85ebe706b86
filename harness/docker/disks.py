"""Disks of servers in containers that can be full.

A server's transaction log is then in a volume of its own, in memory and of a bounded size, which
the node's sidecar has, too: it fills it, and keeps it while the server is dead. Only runs whose
plan has such a fault have these volumes: a log in memory is never slow.
"""

from collections.abc import Callable, Mapping
from typing import Final

from docker.types import DriverConfig

from rumpus.harness.docker.nodes import DockerNode
from rumpus.harness.ensemble import DiskTrouble, EnvironmentRefusal

BYTES: Final = 128 << 20
"""How much fits: a run's logs take a tenth of it, and what fills it takes the host's memory."""

IN_MEMORY: Final = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": f"size={BYTES}"})
"""What makes a volume one of these."""

_FILL: Final = "cat /dev/zero > {place}/.filler 2>/dev/null; true"
_LOOK: Final = (
    "if echo x > {place}/.probe 2>/dev/null; then echo room; else echo full; fi; "
    "rm -f {place}/.probe"
)
_MEND: Final = "rm -f {place}/.filler {place}/.probe"


class FullDisks:
    """Implements ``harness.ensemble.Disks``, for disks that are full.

    Args:
        nodes: the ensemble's nodes, by name; none before it starts.
        place: where servers have their transaction logs.
    """

    def __init__(self, nodes: Callable[[], Mapping[str, DockerNode]], place: str) -> None:
        self.place = place
        self.wanted = False
        """Whether servers that are made from now on get such volumes."""
        self._nodes = nodes

    def prepare(self) -> None:
        """Have volumes made that can be filled."""
        self.wanted = True

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Fill a disk.

        Raises:
            ValueError: another trouble is asked for.
            EnvironmentRefusal: it cannot be filled.
        """
        if trouble != "full":
            raise ValueError(f"a disk of a container cannot be {trouble}")
        self._run(node, _FILL)

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """``full`` if nothing can be written there now, as a try shows."""
        if not self.wanted or self._nodes()[node].state() in ("removed", "unplugged"):
            return None
        return "full" if "full" in self._run(node, _LOOK) else None

    def mend_disk(self, node: str) -> None:
        """Take away what fills a disk."""
        if self.wanted:
            self._run(node, _MEND)

    def _run(self, node: str, script: str) -> str:
        code, said = self._nodes()[node].run_in_network(script.format(place=self.place))
        if code:
            raise EnvironmentRefusal(f"the disk of {node} cannot be reached: {said.strip()}")
        return said
