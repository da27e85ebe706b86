"""Faults of the servers' disks: ``file-slow``, ``file-full``, ``file-fail`` and ``file-lie``."""

from typing import ClassVar

from rumpus.harness.ensemble import Capability, DiskTrouble, Ensemble
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault


class Disk(ServerFault):
    """A fault of the disks of servers.

    ``trouble`` is its name in the simulated disk.
    """

    works_on = "the servers' disks"
    needs: ClassVar[Capability | None] = "disk-journal"
    usual = False
    trouble: ClassVar[DiskTrouble]

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Have disks made that can have the fault."""
        del entry
        if ensemble.disks is not None:
            ensemble.disks.prepare(cls.trouble)

    def inject(self) -> None:
        """Begin the fault on the chosen servers' disks."""
        for node in self.chosen:
            self.context.disks.trouble_disk(node, self.trouble)

    def in_force(self) -> Finding:
        """Wait until each of these disks has the fault."""
        return self.wait_until_all(self.context.disks.disk_trouble, self.trouble, self.trouble)

    def heal(self) -> None:
        """End the fault; restart the chosen servers that have ended."""
        for node in self.chosen:
            self.context.disks.mend_disk(node)
            if self.context.ensemble.state(node) == "dead":
                self.context.ensemble.restart(node)

    def healed(self, timeout: float) -> Finding:
        """Check that no disk has the fault any more; wait until the servers serve."""
        if faulty := self.still_wrong(self.context.disks.disk_trouble, None):
            return Finding(False, f"disks still faulty: {faulty}")
        return super().healed(timeout)


class FileSlow(Disk):
    """Slow disks. Every write becomes slow, as a commit needs the fsyncs of a quorum.

    On real servers an fsync takes 50 ms longer.
    """

    kind = "file-slow"
    summary = "every fsync takes fifty times as long"
    trouble = "slow"


class FileFull(Disk):
    """Full disks: servers end at their next write, and are restarted by ``heal``.

    Real ones leave the ensemble, and try again and again. The next quarter megabyte still fits into
    their transaction log: they take room before they need it.
    """

    kind = "file-full"
    needs = "full-disk"
    summary = "nothing can be written: a server ends, or leaves the ensemble, at its next write"
    trouble = "full"


class FileFail(Disk):
    """Disks that fail to sync: servers end, or leave the ensemble, at their next write.

    On real servers the failed write is not on the disk after a later sync that succeeds either:
    Linux takes it for written from then on (Rebello et al., Can applications recover from fsync
    failures?, ATC 2020). With ``power-off`` it is gone.
    """

    kind = "file-fail"
    summary = "every fsync fails: a server ends, or leaves the ensemble, at its next write"
    trouble = "failing"
    drawn = False  # what seeds draw has to stay


class FileLie(Disk):
    """Disks that acknowledge an fsync and yet lose the data when the power fails."""

    kind = "file-lie"
    summary = (
        "fsync reports success but persists nothing: with `power-off` ZooKeeper loses writes that "
        "it acknowledged"
    )
    sound = False  # ZooKeeper relies on fsync: it promises nothing on such disks
    trouble = "lying"
