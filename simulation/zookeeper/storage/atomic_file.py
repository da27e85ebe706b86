"""Atomic replacement of a file (``AtomicFileOutputStream`` of ZooKeeper 3.8.0)."""

from collections.abc import Callable

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.process import Process

TEMPORARY = ".tmp"


def replace_file(
    disk: Disk, path: str, data: bytes, process: Process, done: Callable[[OSError | None], None]
) -> None:
    """Write a temporary file, sync it, and rename it: the file has its old or its new content.

    The rename is synced as well before ``done`` is called. ZooKeeper does not sync it: a power
    failure within some seconds could undo a write that it has acknowledged.

    Args:
        disk: the disk of the file.
        path: of the file.
        data: its new content.
        process: the process in which ``done`` is called.
        done: called with None, or with the disk's error; the file is the old or the new one then.
    """

    def synced(error: OSError | None) -> None:
        if error is not None:
            done(error)
            return
        try:
            disk.rename(path + TEMPORARY, path)
        except OSError as failure:
            done(failure)
            return
        file.sync(process, done)

    try:
        file = disk.write_whole(path + TEMPORARY, data)
    except OSError as failure:
        process.post(done, failure)
        return
    file.sync(process, synced)
