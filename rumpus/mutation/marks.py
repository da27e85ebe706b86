"""Which lines of a module simulated clients reach, noted in a file by copies of it with marks.

A file, because many runs are forks of one process. This module is shared by all clients.
"""

import os
from pathlib import Path
from typing import Final

_known: Final[dict[str, set[tuple[str, int]]]] = {}
"""File -> what was noted in it by this process, or before it was forked."""


def reached(note: str, module: str, line: int) -> None:
    """Note that a line is reached, if that is new."""
    known = _known.setdefault(note, set())
    if (module, line) in known:
        return
    known.add((module, line))
    descriptor = os.open(note, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{line} {module}\n".encode())
    finally:
        os.close(descriptor)


def noted(note: Path) -> set[tuple[str, int]]:
    """Modules and lines that a file has; none if there is no file."""
    if not note.exists():
        return set()
    said = (line.partition(" ") for line in note.read_text("utf-8").splitlines())
    return {(module, int(line)) for line, _, module in said}
