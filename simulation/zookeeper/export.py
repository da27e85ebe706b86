"""Puts the files of a simulated disk onto a real one, where other tools can read them.

The only part of the simulation that writes real files. Logs come without the 64 MiB of zeros
that ZooKeeper allocates ahead; its tools and servers do not miss them.
"""

from pathlib import Path

from rumpus.simulation.disk.disk import Disk


def export(disk: Disk, directory: Path) -> list[Path]:
    """Write all files of a disk below a directory, as its programs see them at the moment.

    Args:
        disk: of a server that runs, or does not.
        directory: made if it is not there; a ``dataDir`` for a real server.

    Returns:
        what was written, in the order of the names.

    Raises:
        OSError: of the real file system.
    """
    written = []
    for path in sorted(disk.list("")):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(disk.read(path))
        written.append(target)
    return written
