"""Faults of the servers' disks: slow, full, failing, lying, damaged."""

from typing import Any, ClassVar, get_args

from rumpus.harness.damage import Damage
from rumpus.harness.ensemble import Capability, DiskTrouble, Ensemble
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.fault import Draft, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.processes import ServerProcess
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import Targets


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


class DamageOptions(FaultOptions, frozen=True, kw_only=True):
    """What is done to the files of a server.

    Args:
        how: see ``harness.damage.Damage``.
    """

    how: Damage = "wiped"


class FileDamage(ServerProcess):
    """Damage the files of servers: they are killed, and started again on what is left.

    A server that does not start on its files is what an operator would make of it: one without any,
    which gets all from the others. ZooKeeper promises nothing if a majority has lost something.
    """

    kind = "file-damage"
    summary = (
        "a server's files are gone, cut, or another by one bit; one that does not start on them "
        "starts without any"
    )
    works_on = "the servers' disks"
    needs = "disk-journal"
    usual = False
    drawn = False
    sound = False
    stopped = "dead"
    takes = DamageOptions

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._done: list[str] = []
        self._wiped: list[str] = []

    @classmethod
    def prepare(cls, entry: Entry, ensemble: Ensemble) -> None:
        """Have disks made whose files can be reached."""
        del entry
        if ensemble.disks is not None:
            ensemble.disks.prepare(None)

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a server, and what is done to its files."""
        draft = super().draw(turn)
        options = {"how": turn.rng.choice(get_args(Damage))}
        return draft._replace(targets=Targets(role="one"), options=options)

    def stop(self, target: str) -> None:
        """Kill a server, and damage its files."""
        words = self.context.disks.damage(target, self.options.how, self.rng)
        self._done.append(f"{target}: {words}")

    def healed(self, timeout: float) -> Finding:
        """Wait until the servers serve again; take all files of one that does not start."""
        back = super().healed(timeout)
        if back.ok:
            return back
        for target in self.chosen:
            if self.context.ensemble.state(target) == "dead":
                self.context.disks.damage(target, "wiped", self.rng)
                self.context.ensemble.restart(target)
                self._wiped.append(target)
        return super().healed(timeout) if self._wiped else back

    def record(self) -> dict[str, Any]:
        """What was done to which files, and which servers then started without any."""
        return {"how": self.options.how, "done": self._done, "wiped": self._wiped}


class FileLie(Disk):
    """Disks that acknowledge an fsync and yet lose the data when the power fails."""

    kind = "file-lie"
    summary = (
        "fsync reports success but persists nothing: with `power-off` ZooKeeper loses writes that "
        "it acknowledged"
    )
    sound = False  # ZooKeeper relies on fsync: it promises nothing on such disks
    trouble = "lying"
