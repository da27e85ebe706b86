"""Calls of Git that run nothing that the repository itself names.

The repository in which rumpus is called may be anybody's. Its configuration can name programs that
Git runs even where it only reads: a monitor of the files, hooks, filters of files, a program that
shows differences, one that fetches missing objects. Here all of them are off. Filters of the user's
own configuration, such as Git LFS, stay.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_WITHOUT_PROGRAMS: Final = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
    "gc.auto=0",
)
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_FILTERS: Final = r"^filter\..*\.(clean|smudge|process|required)$"


def call_git(program: str, directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Call Git in a directory; whether it refuses is the caller's to see.

    Args:
        program: the path of Git.
        directory: where it is called.
        words: the command and its arguments. A ``diff`` is also given `NAMES_ONLY`.
    """
    settings = [*_WITHOUT_PROGRAMS, *_without_filters(program, directory)]
    return _call(program, directory, settings, *words)


NAMES_ONLY: Final = ("--name-only", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
"""For ``git diff``. Whether a submodule is dirty Git asks by its configuration, not by ours."""


def apply_change(program: str, directory: Path, change: str) -> "subprocess.CompletedProcess[str]":
    """Apply a unified diff to the files of a directory, which is taken for no repository's.

    Args:
        program: the path of Git.
        directory: what the paths in the diff, without their first part, are relative to. None may
            lead out of it.
        change: the diff.
    """
    ceiling = {"GIT_CEILING_DIRECTORIES": str(directory.resolve().parent)}
    return _call(program, directory, _WITHOUT_PROGRAMS, "apply", "-", told=change, more=ceiling)


def _without_filters(program: str, directory: Path) -> list[str]:
    """Settings that take away the filters that the repository's own configuration names."""
    asked = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", _FILTERS)
    found = _call(program, directory, _WITHOUT_PROGRAMS, *asked).stdout.split("\0")
    keys = dict.fromkeys(
        key
        for scope, key in zip(found[::2], found[1::2], strict=False)
        if scope in ("local", "worktree")
    )
    return [f"{key}={'false' if key.endswith('.required') else ''}" for key in keys]


def _call(
    program: str,
    directory: Path,
    settings: Iterable[str],
    *words: str,
    told: str = "",
    more: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    chosen = [word for setting in settings for word in ("-c", setting)]
    return subprocess.run(
        [program, "-C", str(directory), "--no-pager", *chosen, *words],
        input=told,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_ENVIRONMENT, **(more or {})},
    )
