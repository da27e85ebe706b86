"""How much memory a command may take for the files that its command line names."""

import argparse
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from rumpus.checker.untrusted_file import entries_below

USUAL: Final = 900 * 10**6
"""Bytes for any files: the largest simulated run that a case may ask for is had with them."""

FOR_EACH: Final = 50
"""Bytes more for each byte of the files. A large run takes 3 when it is judged."""

_MOST_FILES: Final = 10_000
"""More are not looked at: their sizes would take longer than most commands."""


def memory_of_files(arguments: argparse.Namespace) -> int:
    """The bytes that a command may take if its command line does not say it.

    Args:
        arguments: of the command line; paths in them that exist are taken for files to read.
    """
    return USUAL + FOR_EACH * sum(map(_size, _named(arguments)))


def _named(arguments: argparse.Namespace) -> Iterator[Path]:
    for value in vars(arguments).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Path):
                yield one


def _size(path: Path) -> int:
    """Bytes on disk of a file, or of the files in a directory; links in it are not followed."""
    try:
        if not path.is_dir():
            return _bytes(path.stat())
        # A file may have many names, which cost who made it nothing.
        found = {(each.st_dev, each.st_ino): each for each in islice(_statuses(path), _MOST_FILES)}
        return sum(map(_bytes, found.values()))
    except (OSError, ValueError):
        return 0  # the command says what is wrong with it


def _statuses(directory: Path) -> Iterator[os.stat_result]:
    for entry in entries_below(directory):
        if not entry.is_dir(follow_symlinks=False):
            yield entry.stat(follow_symlinks=False)


def _bytes(status: os.stat_result) -> int:
    """A file may have holes, which cost who made it nothing."""
    return min(status.st_size, status.st_blocks * 512)
