"""The kazoo that clients' processes load, where it is not the installed one.

It lies in a directory of its own, together with what it needs. Only clients look there: the control
process goes on with the installed kazoo.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

PATIENCE_S: Final = 60.0
"""Seconds for a process to import kazoo and a recipe. It takes one."""


class UnusableLibrary(Exception):  # noqa: N818 - says what it is
    """A client cannot load that kazoo, or not a recipe with it; the message says why."""


class Answer(msgspec.Struct, frozen=True):
    """What ``library_probe`` has found: a version, or which step failed, how, and the remedy."""

    version: str = ""
    step: str = ""
    error: str = ""
    remedy: str = ""


def environment(library: Path | None) -> dict[str, str]:
    """The environment of a client's process, so that it imports what this process does.

    Args:
        library: the directory that is searched first; None: no other.
    """
    places = [str(library)] if library is not None else []
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*places, *filter(None, sys.path)])}


def loaded_version(
    library: Path | None, build: str, options: Mapping[str, Any], handler: str
) -> str:
    """The version of kazoo that a client loads from a directory, found by a process that does it.

    Args:
        library: the directory; None: the installed one is loaded.
        build: what a client runs, as in ``workers.ClientSpec``.
        options: the arguments for that.
        handler: kazoo's handler, one of ``handlers.HANDLERS``.

    Raises:
        UnusableLibrary: kazoo, or what the client runs, cannot be imported.
    """
    return _probed(library, msgspec.json.encode([build, options, handler]), tuple(sys.path))


@cache
def _probed(library: Path | None, wanted: bytes, _: tuple[str, ...]) -> str:
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "rumpus.harness.clients.library_probe"],
            input=wanted,
            capture_output=True,
            env=environment(library),
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnusableLibrary(f"it was not imported within {PATIENCE_S:.0f} s") from None
    try:
        answer = msgspec.json.decode(ended.stdout.rpartition(b"\n")[2], type=Answer)
    except msgspec.MsgspecError:
        said = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise UnusableLibrary(
            f"the process that imports it ended with code {ended.returncode} ({said})"
        ) from None
    if answer.error:
        python = platform.python_version()
        raise UnusableLibrary(
            f"Python {python} cannot import {answer.step} ({answer.error}): {answer.remedy}"
        )
    return answer.version
