"""Small files that rumpus keeps for its user from command to command."""

import os
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError
from rumpus.results.untrusted_file import read_regular
from rumpus.usage_error import UsageError

Kept = TypeVar("Kept")

_LARGEST: Final = 1 << 20


def state_file(name: str) -> Path:
    """Where a file of the user's is: below ``XDG_STATE_HOME``, or ``~/.local/state``."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path("~/.local/state").expanduser()
    return base / "rumpus" / name


def read_state(path: Path, kind: type[Kept], what: str) -> Kept:
    """What a file keeps; what its kind is when empty, if there is no file.

    Args:
        path: the file (``state_file``).
        kind: of what is in it: a list or a dictionary.
        what: that should be in it, in words.

    Raises:
        UsageError: the file is malformed.
        UnreadableRun: it is no regular file, or is too large.
    """
    if not path.exists():
        return kind()
    try:
        return msgspec.json.decode(read_regular(path, "read it", _LARGEST), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: no {what} ({error}); remove it") from error


def keep_state(path: Path, kept: Any) -> None:
    """Write a file of the user's.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError.from_os_error(
            path.parent, "make the directory", error, option=""
        ) from error
    write_atomically(path, msgspec.json.format(msgspec.json.encode(kept), indent=1), option="")
