"""The files of a simulated client: on a simulated disk, which stays when the process is killed."""

from pathlib import Path

from rumpus.harness.simulated.waiting import park
from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.kernel.process import Process


class SimHome:
    """Fulfils ``clients.home.Home``. An append takes the time of a sync, as it does outside.

    Args:
        disk: of the client's host.
        process: that uses it now; only its tasks may.
    """

    def __init__(self, disk: Disk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def read(self, name: str) -> bytes:
        """All of a file; empty if there is none."""
        return self._disk.read(name) if self._disk.exists(name) else b""

    def append(self, name: str, data: bytes) -> None:
        """Write at the end, and wait until it is safe."""
        process, disk = self._process, self._disk
        if process.dead:  # a task that unwinds writes nothing any more
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
    """Make real files of a disk's, where those of a real client would be."""
    for name in disk.list():
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(disk.read(name))
