"""Faults of the servers' disks: ``file-slow``, ``file-full`` and ``file-lie``."""

from typing import Any, ClassVar

from rumpus.harness.simulated_faults import DiskTrouble
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_servers


class Disk(Fault):
    """A fault that leaves servers running on disks that do not do what they should."""

    trouble: ClassVar[DiskTrouble]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._nodes: list[str] = []

    @property
    def targets(self) -> list[str]:
        """The servers struck."""
        return list(self._nodes)

    def choose(self) -> None:
        """By name, or by role among those that run."""
        self._nodes, self.words = choose_servers(self.entry.targets, self.scene, self.rng)

    def inject(self) -> None:
        """Trouble their disks."""
        for node in self._nodes:
            self.scene.machines.trouble_disk(node, self.trouble)

    def in_force(self) -> Finding:
        """The disks have that trouble."""
        found = {node: self.scene.machines.disk_trouble(node) for node in self._nodes}
        in_force = bool(found) and set(found.values()) == {self.trouble}
        return Finding(in_force, self.trouble if in_force else f"the disks are {found}")

    def heal(self) -> None:
        """Mend the disks; start servers again that have ended for them."""
        for node in self._nodes:
            self.scene.machines.mend_disk(node)
            if self.scene.ensemble.state(node) == "dead":
                self.scene.ensemble.restart(node)

    def healed(self, timeout: float) -> Finding:
        """The disks are well and the servers serve."""
        ill = [node for node in self._nodes if self.scene.machines.disk_trouble(node)]
        if ill:
            return Finding(False, f"disks still in trouble: {', '.join(ill)}")
        return servers_back(self._nodes, self.scene, timeout)


class FileSlow(Disk):
    """Every fsync takes long; leaders wait for a quorum of them."""

    kind = "file-slow"
    label = "disks slow"
    colour = "#7d6608"
    trouble = "slow"


class FileFull(Disk):
    """Nothing can be written any more: a server ends at its next write, and is started again."""

    kind = "file-full"
    label = "disks full"
    colour = "#784212"
    trouble = "full"


class FileLie(Disk):
    """Fsync keeps nothing safe. With ``power-off`` ZooKeeper itself loses what it acknowledged."""

    kind = "file-lie"
    label = "disks lying"
    colour = "#4a235a"
    trouble = "lying"
