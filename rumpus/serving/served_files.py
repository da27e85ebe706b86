"""Files under the directory of runs: which may be served, as what, and how a folder is listed."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import nsmallest
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

from rumpus.checker.untrusted_file import UnfitFile, open_regular
from rumpus.results.reports.assets import asset, hashed
from rumpus.runs.made_here import is_written_here

_PIECE: Final = 1 << 16
MOST_ENTRIES: Final = 500
"""How many entries of a folder are listed."""

_TEXT: Final = frozenset(
    {".csv", ".edn", ".json", ".jsonl", ".log", ".md", ".toml", ".txt", ".xml"}
)

_SHOWN: Final = "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

REPORT: Final = (
    "sandbox allow-scripts; default-src 'none'; "
    f"script-src '{hashed(asset('report.js'))}'; {_SHOWN}"
)
"""The policy of a report that was written here: it is of no origin, can ask nobody for anything,
and runs no script but its own."""

STRANGE: Final = f"sandbox; default-src 'none'; {_SHOWN}"
"""The policy of all other pages, which others may have made.

They run no script at all. Where scripts are allowed, a page may also lead the browser elsewhere by
itself (``<meta http-equiv="refresh">``), which nothing else in a policy forbids.
"""


class Entry(NamedTuple):
    """What lies in a folder: its name, its address there, and its size in words."""

    name: str
    address: str
    size: str


def inside(root: Path, place: str) -> Path | None:
    """What has a place under a directory; None if nothing has, or a link leads out of it.

    Args:
        root: the directory.
        place: as an address has it, decoded.
    """
    parts = place.split("/")
    if "\0" in place or any(part in ("..", ".") for part in parts):
        return None
    try:
        base = root.resolve(strict=True)
        path = base.joinpath(*filter(None, parts)).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    return path if path.is_relative_to(base) else None


def kind_of(path: Path) -> tuple[str, str]:
    """The media type of a file by its name, and the policy of a page; empty: it is none.

    Raises:
        UnreadableRun: the user's file that tells what was written here cannot be read.
    """
    if path.suffix == ".html":
        policy = REPORT if is_written_here(path.parent, path.name) else STRANGE
        return "text/html; charset=utf-8", policy
    if path.suffix in _TEXT:
        return "text/plain; charset=utf-8", ""
    return "application/octet-stream", ""


def opened(path: Path) -> tuple[int, Iterator[bytes]] | None:
    """A file's size now, and so many bytes of it in pieces; None if it cannot be served."""
    stack = ExitStack()
    try:
        file = stack.enter_context(open_regular(path))
    except (OSError, UnfitFile):
        return None
    size = os.fstat(file.fileno()).st_size
    return size, _pieces(stack, file, size)


def _pieces(stack: ExitStack, file: BinaryIO, left: int) -> Iterator[bytes]:
    """Not more than was promised, though the file may grow meanwhile."""
    with stack:
        while left and (piece := file.read(min(left, _PIECE))):
            left -= len(piece)
            yield piece


def listed(folder: Path, most: int = MOST_ENTRIES) -> tuple[list[Entry], int]:
    """What lies in a folder, folders first, and how much more; only names that an address can have.

    Args:
        folder: the folder.
        most: how many entries are listed.
    """
    found: list[Entry] = []
    count = 0

    def counted(entries: Iterable[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        nonlocal count
        for each in entries:
            count += 1
            yield each

    try:
        with os.scandir(folder) as entries:
            first = nsmallest(
                most, counted(entries), key=lambda each: (not each.is_dir(), each.name)
            )
    except OSError:
        return [], 0
    for each in first:
        try:
            address = quote(each.name)
            if each.is_dir():
                found.append(Entry(f"{each.name}/", f"{address}/", ""))
            elif each.is_file():
                found.append(Entry(each.name, address, f"{each.stat().st_size:,} bytes"))
        except (OSError, UnicodeEncodeError):
            continue
    return found, count - len(first)


def newest_runs(root: Path, most: int = 100) -> list[Path]:
    """The directories of runs, the one that began last first: by their names, which are times."""
    found = [
        each.parent
        for each in root.glob("*/*/test.json")
        if not each.parent.is_symlink() and not each.parent.parent.is_symlink()
    ]
    return sorted(found, key=lambda each: each.name, reverse=True)[:most]
