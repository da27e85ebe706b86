"""Faults of the servers' disks: ``file-slow``, ``file-full`` and ``file-lie``."""

from typing import ClassVar

from rumpus.harness.simulated_faults import DiskTrouble
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault


class Disk(ServerFault):
    """A fault that leaves servers running on disks that do not do what they should."""

    works_on = "the servers' disks"
    needs = "simulation"
    usual = False
    trouble: ClassVar[DiskTrouble]

    def inject(self) -> None:
        """Trouble their disks."""
        for node in self.chosen:
            self.context.machines.trouble_disk(node, self.trouble)

    def in_force(self) -> Finding:
        """The disks have that trouble."""
        return self.wait_until_all(self.context.machines.disk_trouble, self.trouble, self.trouble)

    def heal(self) -> None:
        """Mend the disks; restart servers that have ended because of them."""
        for node in self.chosen:
            self.context.machines.mend_disk(node)
            if self.context.ensemble.state(node) == "dead":
                self.context.ensemble.restart(node)

    def healed(self, timeout: float) -> Finding:
        """The disks are well and the servers serve."""
        if ill := self.still_wrong(self.context.machines.disk_trouble, None):
            return Finding(False, f"disks still in trouble: {ill}")
        return super().healed(timeout)


class FileSlow(Disk):
    """Slow disks; leaders wait for a quorum of fsyncs."""

    kind = "file-slow"
    summary = "every fsync takes fifty times as long"
    trouble = "slow"


class FileFull(Disk):
    """Full disks; the servers are started again."""

    kind = "file-full"
    summary = "nothing can be written: a server ends at its next write"
    trouble = "full"


class FileLie(Disk):
    """Disks that lose what they have acknowledged."""

    kind = "file-lie"
    summary = (
        "fsync reports success and keeps nothing safe: with `power-off` ZooKeeper loses writes "
        "that it acknowledged"
    )
    sound = False
    trouble = "lying"
