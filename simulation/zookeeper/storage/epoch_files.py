"""The two epochs that a server of an ensemble must not forget: ``acceptedEpoch``, ``currentEpoch``.

Each is a file of decimal digits (``QuorumPeer.writeLongToFile``).
"""

from collections.abc import Callable

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.startup_errors import StartupRefused
from rumpus.simulation.zookeeper.storage.atomic_file import TEMPORARY, replace_file

ACCEPTED = "acceptedEpoch"
CURRENT = "currentEpoch"


class EpochFiles:
    """Reads the epochs when a server starts, and writes new ones.

    ZooKeeper creates missing files when it starts. Here they are written, and synced, together
    with the first epoch that is set; until then starting again finds the same epochs.

    Attributes:
        accepted: the highest epoch whose leader this server has promised to follow.
        current: the epoch of the last leader that it has followed in full.
    """

    __slots__ = ("_directory", "_disk", "_unwritten", "accepted", "current")

    def __init__(self, disk: Disk, directory: str = "version-2") -> None:
        self._disk = disk
        self._directory = directory
        self._unwritten: list[str] = []
        self.accepted = 0
        self.current = 0

    def load(self, last_zxid: int) -> None:
        """Read both; where there is no file, it is the epoch of the last zxid.

        Raises:
            StartupRefused: a file is no number; the last zxid is of a later epoch than the
                current one; the accepted epoch is below the current one.
        """
        self._unwritten.clear()
        epoch = last_zxid >> 32
        self.current = self._read(CURRENT, epoch)
        if epoch > self.current:
            if not self._disk.exists(self._path(CURRENT + TEMPORARY)):
                raise StartupRefused(
                    f"the current epoch, {self.current}, is older than the last zxid, "
                    f"{last_zxid:#x}"
                )
            # It ended between writing the file and renaming it.
            self.current = self._read(CURRENT + TEMPORARY, epoch)
            self._unwritten.append(CURRENT)
        self.accepted = self._read(ACCEPTED, epoch)
        if self.accepted < self.current:
            raise StartupRefused(
                f"the accepted epoch, {self.accepted}, is less than the current epoch, "
                f"{self.current}"
            )

    def set_accepted(
        self, epoch: int, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write ``acceptedEpoch``; ``accepted`` is the new one once ``done(None)`` is called."""

        def written(error: OSError | None) -> None:
            if error is None:
                self.accepted = epoch
            done(error)

        self._set(ACCEPTED, epoch, process, written)

    def set_current(
        self, epoch: int, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write ``currentEpoch``; ``current`` is the new one once ``done(None)`` is called."""

        def written(error: OSError | None) -> None:
            if error is None:
                self.current = epoch
            done(error)

        self._set(CURRENT, epoch, process, written)

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def _read(self, name: str, otherwise: int) -> int:
        path = self._path(name)
        if not self._disk.exists(path):
            self._unwritten.append(name)
            return otherwise
        text = self._disk.read(path)
        if not text.isdigit():
            raise StartupRefused(f"found {text!r} in {path}")
        return int(text)

    def _set(
        self, name: str, epoch: int, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write what has not been written yet, and then this."""
        if not self._unwritten:
            replace_file(self._disk, self._path(name), b"%d" % epoch, process, done)
            return
        first = self._unwritten[-1]

        def written(error: OSError | None) -> None:
            if error is None:
                if first in self._unwritten:
                    self._unwritten.remove(first)
                self._set(name, epoch, process, done)
            else:
                done(error)

        present = self.accepted if first == ACCEPTED else self.current
        replace_file(self._disk, self._path(first), b"%d" % present, process, written)
