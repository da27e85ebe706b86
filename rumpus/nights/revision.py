"""Which commit of which branch a directory is at, as far as Git tells."""

import shutil
from pathlib import Path
from typing import NamedTuple

from rumpus.git_calls import call_git


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
        done = call_git(program, directory, *words)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = ask("rev-parse", "--short", "HEAD")
    return Revision(ask("symbolic-ref", "--short", "--quiet", "HEAD") if commit else "", commit)
