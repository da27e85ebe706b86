"""Writing a file, or a symbolic link, so that no reader ever sees half of it."""

import contextlib
import os
from pathlib import Path

from rumpus.results.store_error import StoreError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file in one step: a reader sees either the old content or all of the new.

    Text is written as UTF-8; what cannot be encoded becomes a question mark.

    Raises:
        StoreError: it cannot be written; no temporary file is left.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        data = content.encode(errors="replace") if isinstance(content, str) else content
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the name may be one that no file can have
            draft.unlink()
        raise StoreError.from_os_error(path, "write it", error) from error


def link_atomically(link: Path, target: Path) -> None:
    """Point a symbolic link at a target (relative to the link), replacing an earlier link.

    Raises:
        StoreError: it cannot be made, or something that is not a link has its name.
    """
    if not link.is_symlink() and link.exists():
        raise StoreError(
            link, "stands where a link to the latest run belongs", "move it out of the way"
        )
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        draft.symlink_to(target)
        draft.replace(link)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreError.from_os_error(link, "link to the latest run", error) from error
