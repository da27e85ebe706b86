"""Replacing a file so that it is the old or the new one (``AtomicFileOutputStream``)."""

from collections.abc import Callable

from rumpus.simulation.disk.disk import Disk
from rumpus.simulation.kernel.process import Process

TEMPORARY = ".tmp"


def replace_file(
    disk: Disk, path: str, data: bytes, process: Process, done: Callable[[OSError | None], None]
) -> None:
    """Write a temporary file, sync it, and rename it.

    The rename is synced as well before ``done`` is called. ZooKeeper leaves that to the file
    system: for some seconds a power failure could take back what it has promised.

    Args:
        disk: on which the file is.
        path: of the file.
        data: what is to be in it.
        process: in which ``done`` is called.
        done: gets None, or the error of the disk; the old file may be there then, or the new.
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
