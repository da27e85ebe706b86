"""The files of a simulated client: on a simulated disk, which stays when the process is killed."""

from pathlib import Path

from rumpus.harness.simulated.waiting import park
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.kernel.process import Process


class SimHome:
    """Implements ``clients.home.Home``. An append takes as long as a sync, as on a real disk.

    Args:
        disk: the disk of the client's host.
        process: the process that uses the disk now; only its tasks may call the methods.
    """

    def __init__(self, disk: Disk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def read(self, name: str) -> bytes:
        """All of a file; empty if there is none."""
        return self._disk.read(name) if self._disk.exists(name) else b""

    def append(self, name: str, data: bytes) -> None:
        """Write at the end, and wait until it is synced."""
        process, disk = self._process, self._disk
        if process.dead:  # a task of a killed process, while its stack unwinds, writes nothing
            raise ProcessKilled
        file = disk.open(name) if disk.exists(name) else disk.create(name)
        file.append(data)
        outcome: list[OSError | None] = []
        task = process.simulator.current

        def done(error: OSError | None) -> None:
            outcome.append(error)
            if task is not None:
                task.wake()

        file.sync(process, done)
        while not outcome:
            park(process.simulator, None, "its disk")
        if outcome[0] is not None:
            raise outcome[0]


def write_out(disk: Disk, directory: Path) -> None:
    """Copy a simulated disk's files to a real directory, where a real client has its files."""
    for name in disk.list():
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(disk.read(name))
