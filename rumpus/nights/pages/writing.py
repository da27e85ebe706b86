"""Writes the pages of nights into a directory: only those that have changed.

A page says what it is made of, so that it need not be made to see whether it is as it should be. Of
pages that somebody else may have written that is not taken: then each is made.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.checker.untrusted_file import UnfitFile, read_regular
from rumpus.nights.memory.store import Store
from rumpus.nights.pages.gathering import gather
from rumpus.nights.pages.site import Page, Site
from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError
from rumpus.runs.made_here import is_noted, note

HTML: Final = "--html DIR"
"""The option that chooses the directory."""

_LARGEST: Final = 1 << 28  # bytes of a page

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
    pages = list(Site(gather(store)).pages())
    ours = is_noted(*_content(pages, directory))
    for page in pages:
        files += 1
        written += _write(page, directory, ours=ours)
    if written:
        note(*_content(pages, directory))
    return Written(files, written)


def _content(pages: Iterable[Page], directory: Path) -> Iterator[bytes]:
    """What tells whether the pages are those that were written here."""
    yield b"pages of nights"
    for page in pages:
        path = directory / page.place
        try:
            content = read_regular(path, _LARGEST) if not path.is_symlink() else b""
        except (OSError, UnfitFile):
            content = b""
        # Those that were not there yet do not count: a new night adds some.
        if content:
            yield page.place.encode()
            yield hashlib.sha256(content).digest()


def _write(page: Page, directory: Path, *, ours: bool) -> bool:
    """Write a page unless it is there as it should be; whether it was written.

    Args:
        page: the page.
        directory: the site.
        ours: whether what lies there was written here.
    """
    path = directory / page.place
    folder = path.parent
    if folder != directory and folder.is_symlink():
        raise StoreError(folder, "it is a link, and pages are to lie here", "remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError as error:
        raise StoreError.from_os_error(folder, "write pages there", error, option=HTML) from error
    made_of = _MADE_OF.search(there[:_HEAD]) if ours else None
    if made_of is not None and page.made_of is not None and made_of[1].decode() == page.made_of():
        return False
    text = page.make().encode(errors="replace")
    if text == there:
        return False
    write_atomically(path, text, option=HTML)
    return True
