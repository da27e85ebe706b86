"""What a run is asked to be, and the command line that says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rumpus.runs.option import checked, declared_by
from rumpus.runs.run_options import RunOptions


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunOptions):
    """What is to be run: the options, with references in place of classes and functions.

    Attributes:
        argv: the command line that repeats the run, without the program's name.
        workload: a name, or a reference.
        recipe: likewise; None: the workload's first.
        nemesis: kinds of fault; None: the usual ones.
        fault: references of further kinds.
        fixed: options that were given, also where they have their default: a swarm does not draw
            them.
    """

    argv: Sequence[str]
    workload: str
    recipe: str | None = None
    promises: Sequence[str] = ()
    time_limit: float = 60.0
    nemesis: Sequence[str] | None = None
    fault: Sequence[str] = ()
    service: Sequence[str] = ()
    plan: Path | None = None
    kazoo: str | None = None
    patch: str | None = None
    runs: Path = Path("runs")
    fixed: Sequence[str] = ()


OPTIONS: Final = declared_by(RunSettings)
"""The options by name, as a run has them."""


def check(settings: RunSettings) -> None:
    """Refuse settings with a value that an option cannot have.

    Raises:
        UsageError: the message names the option and the value, and says what it may have.
    """
    checked(vars(settings), OPTIONS)


def command_line(settings: RunSettings) -> list[str]:
    """The words of the command that performs this run: ``rumpus``, ``run``, and its options."""
    words = ["rumpus", "run", settings.workload]
    for option in OPTIONS.values():
        value = getattr(settings, option.name)
        if option.name in ("workload", "runs"):
            continue
        if not option.is_given(settings) and not (settings.swarm and option.name in settings.fixed):
            continue
        if value is True:
            words.append(option.flag)
        elif isinstance(value, (list, tuple)):
            empty = "none" if option.name == "nemesis" else ""
            words += [option.flag, ",".join(value) or empty] if value or empty else []
        else:
            words += [option.flag, str(value)]
    return words
