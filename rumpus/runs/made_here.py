"""Which runs were made here: a file of the user's keeps digests of their seals and results.

Whoever can write all files of a run can write one that is valid. So a run that somebody else may
have written is valid only by more than its own files: performed again, signed by a key that is
required, or believed by its user. Results and reports, which no seal has, are somebody's word
likewise unless they were written here.
"""

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from rumpus.checker.untrusted_file import UnfitFile
from rumpus.checker.untrusted_file import read_regular as read_fit
from rumpus.results.atomic_file import write_atomically
from rumpus.results.seal import read_seal
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.results.untrusted_file import read_regular
from rumpus.user_state import state_file

_LINE: Final = 65
"""Bytes of a digest in the file, with its newline."""

_MOST: Final = 1_000_000
"""How many digests the file keeps: beyond, the older half of them is forgotten."""

_WRITTEN: Final = ("results.json", "report.html")
_LARGEST: Final = 1 << 28  # bytes of one of them

MADE_HERE: Final = "the run's own files, sealed as they were made here, or believed"

STRANGE: Final = (
    "nothing but its own files says that this run was ever made: they are not, as they are, what "
    "rumpus has made here. --perform makes a simulated run again, --require KEY takes what was "
    "signed by who holds that key, and --believe takes the files at their word, from now on"
)

ALONE: Final = (
    "a history alone is what somebody has written: without a run's other files nothing can "
    "contradict it. --believe takes it at its word"
)


def note_made(directory: Path, say: Callable[[str], None] = lambda _: None) -> None:
    """Remember that a run, as it is sealed now, was made here, or is believed.

    Args:
        directory: the run's.
        say: told if that cannot be kept.

    Raises:
        UnreadableRun: it has no seal, or that cannot be read.
    """
    seal = read_seal(directory)
    if seal is not None:
        _keep([_digest(seal)], say)


def is_made_here(directory: Path) -> bool:
    """Whether a run's seal is one that was made here, or is believed.

    It says nothing of what has changed since it was sealed.

    Raises:
        UnreadableRun: the user's file, or the seal, cannot be read.
    """
    seal = read_seal(directory)
    return seal is not None and _digest(seal) in _kept()


def note_written(directory: Path, say: Callable[[str], None] = lambda _: None) -> None:
    """Remember that a run's results and report, as they are now, were written here.

    Args:
        directory: the run's.
        say: told if that cannot be kept.
    """
    written = [_of_file(directory, name) for name in _WRITTEN]
    _keep([each for each in written if each is not None], say)


def is_written_here(directory: Path, name: str) -> bool:
    """Whether a run's results, or its report, were written here, for the run as it is sealed now.

    Args:
        directory: the run's.
        name: of the file.

    Raises:
        UnreadableRun: the user's file cannot be read.
    """
    digest = _of_file(directory, name)
    return digest is not None and digest in _kept()


def note(*parts: bytes) -> None:
    """Remember that something else was made here: these bytes, in this order."""
    _keep([_digest(*parts)], lambda _: None)


def is_noted(*parts: bytes) -> bool:
    """Whether these bytes were remembered."""
    return _digest(*parts) in _kept()


def made_file() -> Path:
    """The user's file that keeps all of that."""
    return state_file("made-runs.txt")


def _of_file(directory: Path, name: str) -> bytes | None:
    """The digest of a file and of the seal that it is made under; None if there is no such file."""
    try:
        content = read_fit(directory / name, _LARGEST)
        seal = read_seal(directory) or b""
    except (OSError, UnfitFile, UnreadableRun):  # nothing that was written here
        return None
    return _digest(seal, name.encode(), content)


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"\0".join(parts)).hexdigest().encode()


def _kept() -> bytes:
    """The digests, a line each: a search in a million takes less than a set's memory would."""
    file = made_file()
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return b""
    return _read(file, status.st_ino, status.st_size)


@functools.lru_cache(maxsize=1)
def _read(file: Path, _inode: int, _size: int) -> bytes:
    return read_regular(file, "read which runs were made here", 2 * _MOST * _LINE)


def _keep(digests: Iterable[bytes], say: Callable[[str], None]) -> None:
    file = made_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with contextlib.closing(os.fdopen(descriptor, "wb", buffering=0)) as lines:
            for each in digests:
                lines.write(each + b"\n")  # at once: commands side by side do not mix theirs
            full = lines.tell() > _MOST * _LINE
        if full:
            kept = file.read_bytes()
            write_atomically(file, kept[len(kept) // _LINE // 2 * _LINE :], option="")
    except (OSError, StoreError) as error:
        say(f"note: `rumpus check` will need --believe, for this run cannot be kept: {error}")
