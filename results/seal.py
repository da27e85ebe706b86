"""``seal.json``: a checksum of every file that a run is judged by, made when the run has ended.

What is made of a run (results, report) is not evidence and may be made again. A run that did not
come to its end (killed, or the disk was full) has no seal.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from results.atomic_file import write_atomically
from results.store_error import StoreError, UnreadableRun
from results.untrusted_file import open_regular

SEAL = "seal.json"
FORMAT_VERSION = 1
MADE_OF_IT = frozenset({SEAL, "results.json", "report.html", "junit.xml", "summary.md"})
"""Files that are made from the evidence."""

LOGGED_ON = frozenset({"harness.log"})
"""Written to while the run is judged, and not judged by."""


class _Sealed(msgspec.Struct):
    size: int
    sha256: str


class _Seal(msgspec.Struct):
    format: int
    files: dict[str, _Sealed]


def seal(directory: Path) -> None:
    """Write the seal of a run's directory, replacing an earlier one.

    Raises:
        StoreError: it cannot be written, or a file cannot be read.
    """
    try:
        files = {
            name: _Sealed(path.lstat().st_size, _checksum(path))
            for name, path in _evidence(directory)
        }
    except OSError as error:
        raise StoreError.from_os_error(directory, "read what the run has left", error) from error
    document = msgspec.json.encode(_Seal(FORMAT_VERSION, files), order="deterministic")
    write_atomically(directory / SEAL, msgspec.json.format(document, indent=2) + b"\n")


def changes(directory: Path) -> list[str] | None:
    """What is not as it was when the run was sealed, in words; None if it has no seal.

    A file of another size is not read, however large it is now.

    Raises:
        UnreadableRun: the seal is malformed.
    """
    path = directory / SEAL
    if not path.exists() and not path.is_symlink():
        return None
    with open_regular(path, "read the run's seal") as file:
        document = file.read()
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
    told = [f"{name} has come since" for name in sorted(found.keys() - sealed.files.keys())]
    for name, was in sorted(sealed.files.items()):
        if name not in found:
            told.append(f"{name} is gone")
        elif not _is_the_same(found[name], was):
            told.append(f"{name} was changed")
    return told


def _evidence(directory: Path) -> Iterator[tuple[str, Path]]:
    """The files of a run that it is judged by, whatever they are: name within the run, path."""
    for folder, folders, files in os.walk(directory):
        here = Path(folder)
        folders.sort()
        # A link in place of a directory is not followed: it is something that has come since.
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*files, *links]):
            path = here / name
            top = here == directory
            if top and (name in MADE_OF_IT | LOGGED_ON or name.startswith(".")):
                continue
            # A stranger's name need not be UTF-8, and what is told of it has to be.
            told = os.fsencode(path.relative_to(directory)).decode(errors="backslashreplace")
            yield told, path


def _is_the_same(path: Path, was: _Sealed) -> bool:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size != was.size:
            return False
        return _checksum(path) == was.sha256
    except OSError:
        return False  # it cannot be read any more


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
