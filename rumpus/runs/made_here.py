"""Which runs were made here: a file of the user's keeps the digests of their seals.

Whoever can write all files of a run can write one that is valid. So a run that somebody else may
have written is valid only by more than its own files: performed again, signed by a key that is
required, or believed by its user.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rumpus.results.atomic_file import write_atomically
from rumpus.results.seal import read_seal
from rumpus.results.store_error import StoreError
from rumpus.results.untrusted_file import read_regular
from rumpus.user_state import state_file

_LINE: Final = 65
"""Bytes of a digest in the file, with its newline."""

_MOST: Final = 1_000_000
"""How many runs the file keeps: beyond, the older half of them is forgotten."""

MADE_HERE: Final = "the run's own files, unchanged since rumpus made them here"

STRANGE: Final = (
    "nothing but its own files says that this run was ever made: they are not, as they are, what "
    "rumpus has made here. --perform makes a simulated run again, --require KEY takes what was "
    "signed by who holds that key, and --believe takes the files at their word, from now on"
)


def note_made(directory: Path, say: Callable[[str], None] = lambda _: None) -> None:
    """Remember that a run, as it is sealed now, was made here, or is believed.

    Args:
        directory: the run's.
        say: told if that cannot be kept.

    Raises:
        UnreadableRun: it has no seal, or that cannot be read.
    """
    digest = _digest(directory)
    if digest is None:
        return
    file = made_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with contextlib.closing(os.fdopen(descriptor, "wb", buffering=0)) as lines:
            lines.write(digest + b"\n")  # one write: commands side by side do not mix theirs
            full = lines.tell() > _MOST * _LINE
        if full:
            kept = file.read_bytes()
            write_atomically(file, kept[len(kept) // _LINE // 2 * _LINE :], option="")
    except (OSError, StoreError) as error:
        say(f"note: `rumpus check` will need --believe, for this run cannot be kept: {error}")


def is_made_here(directory: Path) -> bool:
    """Whether a run's seal is one that was made here, or is believed.

    It says nothing of what has changed since it was sealed.

    Raises:
        UnreadableRun: the user's file, or the seal, cannot be read.
    """
    file, digest = made_file(), _digest(directory)
    if digest is None or not file.exists():
        return False
    kept = read_regular(file, "read which runs were made here", 2 * _MOST * _LINE)
    return digest in kept.split(b"\n")


def made_file() -> Path:
    """The user's file that keeps them."""
    return state_file("made-runs.txt")


def _digest(directory: Path) -> bytes | None:
    seal = read_seal(directory)
    return None if seal is None else hashlib.sha256(seal).hexdigest().encode()
