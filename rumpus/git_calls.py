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
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
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


LONGEST_CHANGE: Final = 1 << 20
"""Bytes of a change that is applied."""


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


def _in_environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Settings as Git reads them from the environment, behind those that are there already.

    Not by ``-c``: that ends a key at its first ``=``, and the name of a filter can have one.
    """
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    told: dict[str, str] = {}
    for number, (key, value) in enumerate(settings, first):
        told |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**told, "GIT_CONFIG_COUNT": str(first + len(told) // 2)}


def _without_filters(program: str, directory: Path) -> list[tuple[str, str]]:
    """Settings that take away the filters that the repository's own configuration names."""
    asked = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", _FILTERS)
    found = _call(program, directory, _WITHOUT_PROGRAMS, *asked).stdout.split("\0")
    keys = dict.fromkeys(
        key
        for scope, key in zip(found[::2], found[1::2], strict=False)
        if scope in ("local", "worktree")
    )
    return [(key, "false" if key.endswith(".required") else "") for key in keys]


def _call(
    program: str,
    directory: Path,
    settings: Iterable[tuple[str, str]],
    *words: str,
    told: str = "",
    more: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, "-C", str(directory), "--no-pager", *words],
        input=told,
        capture_output=True,
        # Names of files and of filters may be any bytes.
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
        env={**os.environ, **_ENVIRONMENT, **_in_environment(settings), **(more or {})},
    )
