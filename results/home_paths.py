"""Paths of the user's home, in what a run leaves behind: they begin with ``~`` there.

A run is shown to others, and where its user's home is tells who that is. Options of a run take such
paths (``rumpus.option_values``), so a command that repeats a run still does.
"""

import re
from pathlib import Path

from rumpus.results.atomic_file import write_atomically
from rumpus.results.store_error import StoreError

_END = r"(?![\w.-])"
"""What follows where the home's name has ended."""

_LARGEST = 256 << 20  # bytes of a log that is looked through


def without_home(text: str) -> str:
    """A text whose paths into the user's home begin with ``~``."""
    home = _home()
    return text if home is None else re.sub(re.escape(home) + _END, "~", text)


def hide_home(logs: Path) -> None:
    """Have the paths in the logs of a directory begin with ``~``. A log that is too large stays.

    Raises:
        StoreError: one cannot be read or written.
    """
    home = _home()
    if home is None:
        return
    pattern = re.compile(re.escape(home.encode()) + _END.encode())
    for log in sorted(logs.glob("*.log")):
        if log.is_symlink() or not log.is_file() or log.stat().st_size > _LARGEST:
            continue
        try:
            content = log.read_bytes()
        except OSError as error:
            raise StoreError.from_os_error(log, "read it", error) from error
        if pattern.search(content):
            write_atomically(log, pattern.sub(b"~", content))


def _home() -> str | None:
    """The user's home; None if it has none, or if it is no directory of the user's own."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return None
    return home if home.startswith("/") and home != "/" else None
