"""Opening files that others made: regular ones only, and none larger than its kind can be.

Every file of a run is opened here. A pipe would keep its reader waiting, a device has no end, and
a sparse file of a few blocks may claim any size.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path


class UnfitFile(ValueError):  # noqa: N818 - says what the file is
    """A file that is not read.

    Attributes:
        why: what is wrong with it.
        remedy: what the user can do.
    """

    def __init__(self, path: Path, why: str, remedy: str) -> None:
        super().__init__(f"{in_utf8(path)}: {why}")
        self.why = why
        self.remedy = remedy


@contextlib.contextmanager
def open_regular(path: Path, largest: int | None = None) -> Iterator[BufferedReader]:
    """A file to read bytes from.

    Args:
        path: the file.
        largest: how many bytes it may have; None where its reader keeps to a bound of its own.

    Raises:
        UnfitFile: it is no regular file, or larger.
        OSError: it is not there, or cannot be opened.
    """
    # Without waiting: opening a pipe that nobody writes to would, before it can be seen.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
        remedy = "name a file; save what comes from a pipe in one first"
        raise UnfitFile(path, f"it is {what}", remedy)
    with os.fdopen(descriptor, "rb") as file:
        if largest is not None and status.st_size > largest:
            why = f"it has {status.st_size:,} bytes, and such a file has at most {largest:,}"
            raise UnfitFile(path, why, "restore what the run wrote")
        yield file


def read_regular(path: Path, largest: int) -> bytes:
    """All of a file.

    Raises:
        UnfitFile, OSError: as `open_regular`.
    """
    with open_regular(path, largest) as file:
        return file.read(largest)


def in_utf8(path: Path) -> str:
    """A path in words. A stranger's name need not be UTF-8, and what is told of it has to be."""
    return os.fsencode(path).decode(errors="backslashreplace")
