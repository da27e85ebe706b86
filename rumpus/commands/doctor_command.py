"""``rumpus doctor``: what this host can do, and what would be needed for the rest."""

import argparse
import importlib
import platform
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from rich.markup import escape

from rumpus.checker.linearizability import search
from rumpus.consoles import answers
from rumpus.runs.ensemble_choice import why_no_engine
from rumpus.version import __version__

LEAST_DISK = 1 << 30


def doctor_command(arguments: argparse.Namespace) -> int:
    """Print what is there and what is not; 0 if runs can be made here, else 4.

    Without a Docker engine runs are simulated, which needs nothing that the host could lack.
    """
    console = answers()

    def say(*, good: bool, what: str, detail: str) -> bool:
        mark = "[green]✔[/]" if good else "[red]✘[/]"
        console.print(f"{mark} {what:<16}  {escape(detail)}", highlight=False, soft_wrap=True)
        return good

    say(
        good=True,
        what="versions",
        detail=f"rumpus {__version__}, Python {platform.python_version()}, "
        f"kazoo {version('kazoo')}, {platform.system()} {platform.release()}",
    )
    say(
        good=search.C is not None,
        what="general search",
        detail=search.engine().name
        + (
            ": the C extension is not there; with a C compiler and Python's headers the "
            f"installation builds it ({search.WHY_NOT_C})"
            if search.WHY_NOT_C
            else ""
        ),
    )
    able = _disk(arguments.runs, say)
    missing = why_no_engine()
    if missing is not None:
        say(good=False, what="docker", detail=f"runs are simulated: {missing}")
    else:
        # Not at the top: the package docker may be missing.
        importlib.import_module("rumpus.engine_findings").look_at_engine(say)
    return 0 if able else 4


def _disk(runs: Path, say: Callable[..., bool]) -> bool:
    place = next(place for place in (runs, *runs.absolute().parents) if place.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free >> 20} MiB free for {runs}"
    good = free >= LEAST_DISK
    if not good:
        detail += f": at least {LEAST_DISK >> 20} MiB are wanted"
    return say(good=good, what="disk", detail=detail)
