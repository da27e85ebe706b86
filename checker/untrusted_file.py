"""Opening files that others made: only regular files, and only up to a given size.

Every file of a run is opened here. Reading a pipe may block for ever, a device has no end, and a
sparse file that takes up a few blocks may have any size.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

LONGEST_LINE = 16 << 20
"""Bytes of the longest line of a run's files."""

_PIECE = 256 * 1024


class UnfitFile(ValueError):  # noqa: N818 - says what the file is
    """A file is refused: it is not a regular file, or too large.

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
        largest: how many bytes it may have; None if the caller limits how much it reads.

    Raises:
        UnfitFile: it is not a regular file, or it is larger.
        OSError: it is not there, or cannot be opened.
    """
    # O_NONBLOCK: else the open of a pipe without a writer blocks, before fstat can tell it is one.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(descriptor)
    if what := other_than_file(status.st_mode):
        os.close(descriptor)
        remedy = "name a file; save what comes from a pipe in one first"
        raise UnfitFile(path, f"it is {what}", remedy)
    with os.fdopen(descriptor, "rb") as file:
        if largest is not None and status.st_size > largest:
            why = f"it has {status.st_size:,} bytes, and such a file has at most {largest:,}"
            raise UnfitFile(path, why, "restore what the run wrote")
        yield file


def other_than_file(mode: int) -> str:
    """What has such a mode (``st_mode``), in words, if it is no regular file; empty if it is."""
    if stat.S_ISREG(mode):
        return ""
    return "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"


def read_regular(path: Path, largest: int) -> bytes:
    """All of a file.

    Raises:
        UnfitFile, OSError: as `open_regular`.
    """
    with open_regular(path, largest) as file:
        return content_of(file, largest)


def read_lines(path: Path, largest: int, longest: int = LONGEST_LINE) -> bytes:
    """All of a file of lines. A sparse file without a newline is refused before it is in memory.

    Args:
        path: the file.
        largest: how many bytes it may have.
        longest: how many bytes a line may have without its newline.

    Raises:
        UnfitFile: a line is longer; or as `open_regular`.
        OSError: as `open_regular`.
    """
    number, begun = 1, 0
    with open_regular(path, largest) as file:
        while piece := file.read(min(_PIECE, longest)):
            first, last = piece.find(b"\n"), piece.rfind(b"\n")
            if begun + (len(piece) if first < 0 else first) > longest:
                why = f"line {number:,} has more than {longest:,} bytes"
                raise UnfitFile(path, why, "restore what the run wrote")
            begun = begun + len(piece) if last < 0 else len(piece) - last - 1
            number += piece.count(b"\n")
        file.seek(0)
        return content_of(file, largest)


def content_of(file: BinaryIO, largest: int) -> bytes:
    """At most so much of a file.

    Python takes memory for what it is asked to read, not for what is there.
    """
    return file.read(min(largest, os.fstat(file.fileno()).st_size))


def entries_below(directory: Path) -> Iterator["os.DirEntry[str]"]:
    """All that is in a directory, however deep; no link is followed.

    What cannot be looked at has nothing in it. ``os.walk`` and ``rglob`` call themselves for each
    level, and fail at a thousand.
    """
    places = [str(directory)]
    while places:
        with contextlib.suppress(OSError), os.scandir(places.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    places.append(entry.path)
                yield entry


def files_below(directory: Path, ending: str) -> list[Path]:
    """The paths below a directory whose names end so, in order."""
    return sorted(Path(e.path) for e in entries_below(directory) if e.name.endswith(ending))


def in_utf8(path: Path) -> str:
    """A path for messages, which are UTF-8: bytes of the name that are not are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")
