"""Opening files that others made: regular ones only, and every refusal in words."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from results.store_error import UnreadableRun

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors put it before UTF-8; it means nothing


@contextlib.contextmanager
def open_regular(path: Path, doing: str) -> Iterator[BinaryIO]:
    """A file to read bytes from; its own errors while it is read are told in words, too.

    Pipes and devices are refused: reading them may wait or go on for ever. A byte order mark at
    the beginning is passed over.

    Args:
        path: the file.
        doing: what is tried, for messages: "read the history".

    Raises:
        UnreadableRun: it is not there, no regular file, or cannot be read.
    """
    try:
        # Without waiting: opening a pipe that nobody writes to would, before it can be seen.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            what = "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"
            raise UnreadableRun(
                path,
                f"cannot {doing} (it is {what})",
                "name a file; save what comes from a pipe in one first",
            )
        with os.fdopen(descriptor, "rb") as file:
            if file.read(len(_BYTE_ORDER_MARK)) != _BYTE_ORDER_MARK:
                file.seek(0)
            yield file
    except OSError as error:
        raise UnreadableRun.from_os_error(path, doing, error) from error
