"""Opening untrusted files for the command line; every error says in words what is wrong."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rumpus.checker import untrusted_file
from rumpus.checker.untrusted_file import UnfitFile
from rumpus.results.store_error import UnreadableRun

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8; it means nothing


@contextlib.contextmanager
def open_regular(path: Path, doing: str, largest: int | None = None) -> Iterator[BinaryIO]:
    """Open a file to read bytes from; errors while it is read raise ``UnreadableRun``, too.

    Pipes and devices are refused: reading them may wait or go on for ever. A byte order mark at
    the beginning is skipped.

    Args:
        path: the file.
        doing: what is tried, for messages: "read the history".
        largest: how many bytes it may have; None if the caller limits what it reads.

    Raises:
        UnreadableRun: it is not there, no regular file, too large, or cannot be read.
    """
    try:
        with untrusted_file.open_regular(path, largest) as file:
            if file.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
                file.seek(0)
            yield file
    except UnfitFile as unfit:
        raise UnreadableRun(path, f"cannot {doing} ({unfit.why})", unfit.remedy) from unfit
    except OSError as error:
        raise UnreadableRun.from_os_error(path, doing, error) from error


def read_lines(path: Path, doing: str, largest: int) -> bytes:
    """The content of a file of lines, none of which may be longer than `LONGEST_LINE`.

    Arguments and errors are those of `open_regular`.
    """
    try:
        return untrusted_file.read_lines(path, largest)
    except UnfitFile as unfit:
        raise UnreadableRun(path, f"cannot {doing} ({unfit.why})", unfit.remedy) from unfit
    except OSError as error:
        raise UnreadableRun.from_os_error(path, doing, error) from error


def read_regular(path: Path, doing: str, largest: int) -> bytes:
    """The content of a file; arguments and errors are those of `open_regular`."""
    with open_regular(path, doing, largest) as file:
        return untrusted_file.content_of(file, largest)
