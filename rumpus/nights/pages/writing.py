"""Writes the pages of nights into a directory: only those that have changed."""

import re
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.nights.memory.store import Store
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.site import Page, Site
from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError

HTML: Final = "--html DIR"
"""The option that chooses the directory."""

_HEAD: Final = 2000
"""Bytes of a page in which it says what it is made of."""

_MADE_OF: Final = re.compile(rb'<meta name="rumpus-made-of" content="([0-9a-f]{64})">')


class Written(NamedTuple):
    """How many files a site has, and how many of them were written now."""

    files: int
    written: int


def write_pages(store: Store, directory: Path) -> Written:
    """Write the pages of a store. Nothing that lies in the directory is removed.

    Args:
        store: what is told.
        directory: where; it is made if it is missing.

    Raises:
        UnreadableRun: the store cannot be read.
        StoreError: a file cannot be written, or a link leads out of the directory.
    """
    files = written = 0
    for page in Site(gather(store)).pages():
        files += 1
        written += _write(page, directory)
    return Written(files, written)


def _write(page: Page, directory: Path) -> bool:
    """Write a page unless it is there as it should be; whether it was written."""
    path = directory / page.place
    folder = path.parent
    if folder != directory and folder.is_symlink():
        raise StoreError(folder, "it is a link, and pages are to lie here", "remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError as error:
        raise StoreError.from_os_error(folder, "write pages there", error, option=HTML) from error
    made_of = _MADE_OF.search(there[:_HEAD])
    if made_of is not None and page.made_of is not None and made_of[1].decode() == page.made_of():
        return False
    text = page.make().encode(errors="replace")
    if text == there:
        return False
    write_atomically(path, text, option=HTML)
    return True
