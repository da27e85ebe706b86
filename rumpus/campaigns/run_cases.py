"""The case of a run that is on disk."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.trial_task import TrialOutcome, outcome_of
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import Judgement, collector_at_rest, judge_run
from rumpus.runs.run_arguments import add_run_options, given_options
from rumpus.runs.run_settings import OPTIONS, RunSettings
from rumpus.usage_error import UsageError
from rumpus.workloads.own.references import is_reference
from rumpus.workloads.registry import find_workload


def case_of_run(path: Path) -> Case:
    """The case of a run's first broken promise; of its first hazard if none was broken.

    A workload of another repository is imported: who replays a run trusts it.

    Args:
        path: the run's directory.

    Raises:
        UsageError: the run has no anomaly, or its command line is not one of ``rumpus run``.
        UnreadableRun: something is missing or malformed.
    """
    _, outcome = judged_again(path)
    if not outcome.seen:
        raise UsageError(f"{path}: the run has no anomaly that could be seen again")
    return case_of(outcome, outcome.seen[0])


def judged_again(path: Path) -> tuple[Judgement, TrialOutcome]:
    """A run that is judged from its directory, and what it showed.

    A workload of another repository is imported.

    Args:
        path: the run's directory.

    Raises:
        UsageError: its command line is not one of ``rumpus run``.
        UnreadableRun: something is missing or malformed.
    """
    directory = RunDirectory(path)
    record = directory.read_record()
    settings = settings_of(record, path)
    workload = find_workload(record.workload) if is_reference(record.workload) else None
    with collector_at_rest():
        judgement = judge_run(directory, workload)
        return judgement, outcome_of(judgement, settings)


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
        ensemble = OPTIONS["ensemble"].checked(record.ensemble)
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
    )


def settings_of_words(words: Sequence[str]) -> RunSettings:
    """What a command line asks for.

    Args:
        words: ``run`` and its arguments.

    Raises:
        ValueError: they are not those of ``rumpus run``.
    """
    parser = _Parser(exit_on_error=False, allow_abbrev=False)
    add_run_options(parser)
    try:
        told, unknown = parser.parse_known_args(words[1:])
    except argparse.ArgumentError as error:
        raise ValueError(str(error)) from error
    if words[:1] != ["run"] or unknown:
        raise ValueError("it is not one of `rumpus run`")
    return RunSettings(argv=(), **given_options(told))


class _WrongWordsError(ValueError):
    """A command line is malformed."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors."""

    def error(self, message: str) -> None:  # type: ignore[override] # does not return either
        """Raise the error."""
        raise _WrongWordsError(message)
