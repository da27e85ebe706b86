"""Files that others made, read for the command line: every refusal in words."""

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
    """A file to read bytes from; its own errors while it is read are told in words, too.

    Pipes and devices are refused: reading them may wait or go on for ever. A byte order mark at
    the beginning is passed over.

    Args:
        path: the file.
        doing: what is tried, for messages: "read the history".
        largest: how many bytes it may have; None where its reader keeps to a bound of its own.

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


def read_regular(path: Path, doing: str, largest: int) -> bytes:
    """All of a file; as `open_regular`."""
    with open_regular(path, doing, largest) as file:
        return file.read(largest)
