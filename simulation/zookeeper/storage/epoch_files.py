"""The epochs that a member of an ensemble stores: ``acceptedEpoch`` and ``currentEpoch``.

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

    ZooKeeper creates missing files when it starts. Here they are written and synced when the
    first epoch is set. Until then a restart computes the same epochs from the last zxid.
    """

    __slots__ = ("_directory", "_disk", "_epochs", "_unwritten")

    def __init__(self, disk: Disk, directory: str = "version-2") -> None:
        self._disk = disk
        self._directory = directory
        self._unwritten: list[str] = []
        self._epochs = {ACCEPTED: 0, CURRENT: 0}

    @property
    def accepted(self) -> int:
        """The last epoch that the server has accepted (``f.p`` of Zab)."""
        return self._epochs[ACCEPTED]

    @property
    def current(self) -> int:
        """The epoch of the last leader whose history it has taken over (``f.a`` of Zab)."""
        return self._epochs[CURRENT]

    def load(self, last_zxid: int) -> None:
        """Read both files; the default for a missing one is the epoch of the last zxid.

        Raises:
            StartupRefused: a file does not contain a number; the last zxid is of a later epoch
                than the current one; the accepted epoch is below the current one.
        """
        self._unwritten.clear()
        epoch = last_zxid >> 32
        self._epochs[CURRENT] = self._read(CURRENT, epoch)
        if epoch > self.current:
            if not self._disk.exists(self._path(CURRENT + TEMPORARY)):
                raise StartupRefused(
                    f"the current epoch, {self.current}, is older than the last zxid, "
                    f"{last_zxid:#x}"
                )
            # The server exited between writing the temporary file and renaming it.
            self._epochs[CURRENT] = self._read(CURRENT + TEMPORARY, epoch)
            self._unwritten.append(CURRENT)
        self._epochs[ACCEPTED] = self._read(ACCEPTED, epoch)
        if self.accepted < self.current:
            raise StartupRefused(
                f"the accepted epoch, {self.accepted}, is less than the current epoch, "
                f"{self.current}"
            )

    def set_accepted(
        self, epoch: int, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write ``acceptedEpoch``; ``accepted`` is the new one once ``done(None)`` is called."""
        self._set(ACCEPTED, epoch, process, done)

    def set_current(
        self, epoch: int, process: Process, done: Callable[[OSError | None], None]
    ) -> None:
        """Write ``currentEpoch``; ``current`` is the new one once ``done(None)`` is called."""
        self._set(CURRENT, epoch, process, done)

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
        """Write the epochs that ``load`` found no file for, and then this one."""
        missing = self._unwritten[-1] if self._unwritten else None
        value = epoch if missing is None else self._epochs[missing]

        def written(error: OSError | None) -> None:
            if error is not None:
                done(error)
            elif missing is None:
                self._epochs[name] = epoch
                done(None)
            else:
                if missing in self._unwritten:
                    self._unwritten.remove(missing)
                self._set(name, epoch, process, done)

        replace_file(self._disk, self._path(missing or name), b"%d" % value, process, written)
