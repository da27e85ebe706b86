"""``seal.json``: a checksum of every file that is evidence of a run, made when the run has ended.

A run is judged by its evidence (history, logs and the like). Its results and report are made from
the evidence and may be made again, so they are not sealed. A run that did not come to its end
(killed, or the disk was full) has no seal.
"""

import hashlib
import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from rumpus.checker.untrusted_file import UnfitFile, in_utf8, open_regular
from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.results.untrusted_file import read_regular

SEAL = "seal.json"
FORMAT_VERSION = 1
SIGNATURE = "seal.json.sig"
"""The signature of the seal, if there is one (``results.signed_seal``)."""

MADE_OF_IT = frozenset(
    {SEAL, SIGNATURE, "results.json", "report.html", "junit.xml", "summary.md", "likelihood.json"}
)
"""Files that are made from the evidence, or from other runs of the same plan."""

LOGGED_ON = frozenset({"harness.log"})
"""Files that are written to even while the run is judged, and are no evidence."""

MOST_EVIDENCE = 8 << 30
"""Bytes that the evidence of a run may have; a bound because a sparse file may have any size."""

_LARGEST_SEAL = 8 << 20  # bytes: room for the names of tens of thousands of files


class _Sealed(msgspec.Struct):
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class _Seal(msgspec.Struct):
    """``empty``: directories without anything in them; None in a seal of before there were these.

    One that is gone is not told, as many programs that keep files do not keep such directories.
    """

    format: int
    files: dict[str, _Sealed]
    empty: list[str] | None = None


def seal(directory: Path) -> None:
    """Write the seal of a run's directory, replacing an earlier one.

    Raises:
        StoreError: it cannot be written, or a file cannot be read.
    """
    files: dict[str, _Sealed] = {}
    empty: list[str] = []
    room = MOST_EVIDENCE
    try:
        for name, path in _evidence(directory):
            if name.endswith("/"):
                empty.append(name)
                continue
            files[name] = _sealed(path, room)
            room -= files[name].size
    except UnfitFile as unfit:
        what = f"cannot read what the run has left ({unfit})"
        raise StoreError(directory, what, "remove it: no run writes that") from unfit
    except OSError as error:
        raise StoreError.from_os_error(directory, "read what the run has left", error) from error
    document = msgspec.json.encode(
        _Seal(FORMAT_VERSION, files, sorted(empty)), order="deterministic"
    )
    write_atomically(directory / SEAL, msgspec.json.format(document, indent=2) + b"\n")


def changes(directory: Path) -> list[str] | None:
    """What has changed since the run was sealed, in words; None if it has no seal.

    Raises:
        UnreadableRun: the seal is malformed.
    """
    document = read_seal(directory)
    return None if document is None else changes_since(directory, document)


def read_seal(directory: Path) -> bytes | None:
    """The content of a run's seal; None if it has none.

    Raises:
        UnreadableRun: it cannot be read.
    """
    path = directory / SEAL
    if not path.exists() and not path.is_symlink():
        return None
    return read_regular(path, "read the run's seal", _LARGEST_SEAL)


def changes_since(directory: Path, document: bytes) -> list[str]:
    """What has changed since a seal with this content was made, in words.

    A file whose size differs is not read, however large it is now.

    Raises:
        UnreadableRun: the seal is malformed.
    """
    path = directory / SEAL
    try:
        sealed = msgspec.json.decode(document, type=_Seal)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableRun(
            path, f"not a seal ({error})", "remove it, and the verdict stays open"
        ) from error
    if sealed.format != FORMAT_VERSION:
        raise UnreadableRun(
            path,
            f"its format {sealed.format} is not {FORMAT_VERSION}",
            "read it with the rumpus that wrote it",
        )
    found = dict(_evidence(directory))
    known = sorted([*sealed.files, *(sealed.empty or ())])
    told = [
        f"{name} has come since"
        for name in sorted(found.keys() - sealed.files.keys())
        if not (name.endswith("/") and (sealed.empty is None or _has_below(known, name)))
    ]
    room = MOST_EVIDENCE
    for name, was in sorted(sealed.files.items()):
        if name not in found:
            told.append(f"{name} is gone")
        elif was.size > room:
            told.append(f"{name} would be too large to be compared")
        elif _is_the_same(found[name], was):
            room -= was.size
        else:
            told.append(f"{name} was changed")
    return told


def _has_below(known: list[str], directory: str) -> bool:
    """Whether one of the names, which are in order, is that of a directory, or of what is in it."""
    at = bisect_left(known, directory)
    return at < len(known) and known[at].startswith(directory)


def _evidence(directory: Path) -> Iterator[tuple[str, Path]]:
    """A run's evidence, of whatever type the files are: name within the run, path.

    The name of a directory without anything in it ends with a slash.
    """
    waiting = [directory]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:  # a directory that cannot be read counts as such a file
            yield in_utf8(here.relative_to(directory)), here
            continue
        in_place_of_file = here.parent == directory and here.name in MADE_OF_IT | LOGGED_ON
        if not entries and here != directory and not in_place_of_file:
            yield f"{in_utf8(here.relative_to(directory))}/", here
        for entry in entries:
            # A link to a directory is not followed: no run makes one, so it is reported as new.
            if entry.is_dir(follow_symlinks=False):
                waiting.append(here / entry.name)
            elif here != directory or not (
                entry.name in MADE_OF_IT | LOGGED_ON or entry.name.startswith(".")
            ):
                path = here / entry.name
                yield in_utf8(path.relative_to(directory)), path


def _is_the_same(path: Path, was: _Sealed) -> bool:
    try:
        # Neither a link nor a file of another size is read.
        return path.lstat().st_size == was.size and _sealed(path, was.size) == was
    except (UnfitFile, OSError):
        return False  # it cannot be read any more


def _sealed(path: Path, largest: int) -> _Sealed:
    """A file's size and checksum.

    Raises:
        UnfitFile: it is a link or no regular file, or larger than ``largest``.
        OSError: it cannot be read.
    """
    if path.is_symlink():
        raise UnfitFile(path, "it is a link", "remove it")
    with open_regular(path, largest) as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
        return _Sealed(file.tell(), checksum)
