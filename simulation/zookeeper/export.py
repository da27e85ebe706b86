"""Copies the files of a simulated disk to a real one, where other tools can read them.

The only part of the simulation that writes real files. Logs lack the 64 MiB of zeros that
ZooKeeper allocates ahead; its tools and servers do not need them.
"""

from pathlib import Path

from rumpus.simulation.disk.disk import Disk


def export(disk: Disk, directory: Path) -> list[Path]:
    """Write all files of a disk below a directory, as programs see them now.

    Args:
        disk: the disk of a server, running or not.
        directory: created if necessary; a ``dataDir`` for a real server.

    Returns:
        the files written, in the order of their names.

    Raises:
        OSError: from the real file system.
    """
    written = []
    for path in sorted(disk.list("")):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(disk.read(path))
        written.append(target)
    return written
