"""Which commit of which branch a directory is at, as far as Git tells."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple


class Revision(NamedTuple):
    """A commit, abbreviated, and its branch; each empty if there is none, or nobody knows."""

    branch: str = ""
    commit: str = ""


def revision(directory: Path) -> Revision:
    """The one of a directory."""
    program = shutil.which("git")
    if program is None:
        return Revision()

    def ask(*words: str) -> str:
        done = subprocess.run(
            [program, "-C", str(directory), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = ask("rev-parse", "--short", "HEAD")
    return Revision(ask("symbolic-ref", "--short", "--quiet", "HEAD") if commit else "", commit)
