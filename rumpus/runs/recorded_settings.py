"""What a run on disk was asked to do, and the code of other repositories that it needs."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import SERVICES
from rumpus.results.record import RunRecord
from rumpus.runs.run_arguments import add_run_options, given_options
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.own.references import NotFound, is_reference
from rumpus.workloads.registry import find_workload


def own_code(record: RunRecord, settings: RunSettings) -> tuple[Workload | None, Promises | None]:
    """The workload and the recipe's promises of a run, as far as they are not those of rumpus.

    The code of another repository is imported: see ``rumpus.trust`` before.

    Args:
        record: the run's.
        settings: what it was asked to do.

    Raises:
        UsageError: there is no such code, or it is not what it should be.
    """
    try:
        workload = find_workload(record.workload)
        promises = None
        if not workload.is_named(record.recipe):
            promises = workload.recipe_of(
                record.recipe, settings.promises, services=record.system == SERVICES
            ).promises
    except (NotFound, ValueError) as error:
        raise UsageError(str(error)) from error
    return workload if is_reference(record.workload) else None, promises


def settings_of(record: RunRecord, path: Path) -> RunSettings:
    """What a run was asked to do, by its record.

    Args:
        record: the run's.
        path: its directory, for errors.

    Raises:
        UsageError: its command line is not one of ``rumpus run``.
    """
    words = record.argv[1:]
    try:
        settings = settings_of_words([each for each in words if each not in ("-v", "--verbose")])
        # Where services are the servers there is nothing to choose.
        ensemble = record.ensemble if record.system != SERVICES else "auto"
        ensemble = OPTIONS["ensemble"].checked(ensemble)
        # A project's file may have asked for these, and not the command line.
        software = {
            name: OPTIONS[name].checked(record.options[name])
            for name in ("kazoo", "patch")
            if name in record.options
        }
    except ValueError as error:
        raise UsageError(
            f"{path}: its command line, {' '.join(record.argv)}, cannot be repeated: {error}"
        ) from error
    return replace(
        settings,
        workload=record.workload,
        recipe=record.recipe,
        ensemble=ensemble,
        seed=record.seed,
        plan=None,
        nemesis=None,
        **software,
    )


def settings_of_words(words: Sequence[str]) -> RunSettings:
    """What a command line asks for.

    Args:
        words: ``run`` and its arguments.

    Raises:
        ValueError: they are not those of ``rumpus run``.
    """
    parser = _Parser(exit_on_error=False, allow_abbrev=False, add_help=False)
    add_run_options(parser)
    try:
        told, unknown = parser.parse_known_args(words[1:])
    except argparse.ArgumentError as error:
        raise ValueError(str(error)) from error
    if words[:1] != ["run"] or unknown:
        raise ValueError("it is not one of `rumpus run`")
    return RunSettings(argv=(), **given_options(told))


def denied_by_command(record: RunRecord, recipe: str | None) -> list[str]:
    """What a run's record says it was, and its command line, if it is one of ``run``, denies.

    Args:
        record: the run's.
        recipe: which one a command means that names none; None: that is not known.
    """
    try:
        asked = settings_of_words([w for w in record.argv[1:] if w not in ("-v", "--verbose")])
    except ValueError:  # of another command, or of another version
        return []
    told = {
        "workload": (record.workload, asked.workload),
        "recipe": (record.recipe, asked.recipe or recipe or record.recipe),
        "server_mutant": (record.options.get("server_mutant"), asked.server_mutant),
        "patch": ("patch" in record.versions, asked.patch is not None),
    }
    return [
        f"the run's {name} is {here}, but its command line asked for {there}"
        for name, (here, there) in told.items()
        if here != there
    ]


class _WrongWordsError(ValueError):
    """A command line is malformed."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors."""

    def error(self, message: str) -> None:  # type: ignore[override] # does not return either
        """Raise the error."""
        raise _WrongWordsError(message)
