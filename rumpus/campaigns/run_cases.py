"""The cases that a path names: that of a file, of a run that is on disk, or those in a folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

from rumpus.campaigns.case import Case, case_of, load_case
from rumpus.campaigns.replaying import ENDING, case_name
from rumpus.campaigns.trial_task import TrialOutcome, outcome_of
from rumpus.checker.untrusted_file import files_below
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import Judgement, collector_at_rest, judge_stored
from rumpus.runs.recorded_settings import own_code, settings_of
from rumpus.trust import refuse_untrusted
from rumpus.usage_error import UsageError


def given_case(
    path: Path, *, trust: bool = False, within: Path | None = None, elsewhere: bool = False
) -> Case:
    """The case in a file, or that of a run's directory, whose code may be imported.

    Args:
        path: the file or the directory.
        trust: whether the user trusts the code that it names.
        within: the directory that was named, if it was found there.
        elsewhere: whether it is performed in another directory: then modules count that are not in
            this one.

    Raises:
        UsageError: it cannot be read, is malformed, or names code that is not trusted.
        UnreadableRun: something is missing or malformed.
    """
    case = load_case(path) if path.is_file() else case_of_run(path, trust=trust)
    settings = case.task().settings
    refuse_untrusted(path, settings, trust=trust, within=within, absent=elsewhere)
    return case


def case_of_run(path: Path, *, trust: bool = False) -> Case:
    """The case of a run's first broken promise; of its first hazard if none was broken.

    Args:
        path: the run's directory.
        trust: whether the user trusts the code that it names.

    Raises:
        UsageError: the run has no anomaly, its command line is not one of ``rumpus run``, or it
            names code that is not trusted.
        UnreadableRun: something is missing or malformed.
    """
    if changed := RunDirectory(path).changes():
        raise UsageError(
            f"{path}: what it shows cannot be told, since after it was sealed {changed[0]}; "
            "restore what the run wrote"
        )
    _, outcome = judged_again(path, trust=trust)
    if not outcome.seen:
        raise UsageError(f"{path}: the run has no anomaly that could be seen again")
    return case_of(outcome, outcome.seen[0])


def judged_again(path: Path, *, trust: bool = False) -> tuple[Judgement, TrialOutcome]:
    """A run that is judged from its directory, and what it showed.

    A workload of another repository is imported.

    Args:
        path: the run's directory.
        trust: whether the user trusts the code that it names.

    Raises:
        UsageError: its command line is not one of ``rumpus run``, or it names code that is not
            trusted.
        UnreadableRun: something is missing or malformed.
    """
    directory = RunDirectory(path)
    record = directory.read_record()
    settings = settings_of(record, path)
    refuse_untrusted(path, settings, trust=trust)
    workload, promises = own_code(record, settings)
    with collector_at_rest():
        judgement = judge_stored(directory, workload, promises)
        return judgement, outcome_of(judgement, settings)


def is_run(path: Path) -> bool:
    """Whether it is a run's directory."""
    return (path / "test.json").exists()


def is_alone(path: Path) -> bool:
    """Whether it has one case, not any number of them."""
    return path.is_file() or is_run(path)


def cases_at(
    path: Path, read: Callable[[Path], Case], *, trust: bool
) -> Iterator[tuple[str, Case]]:
    """The cases that a path names: of a file, of a run, or all below a directory; and their names.

    Args:
        path: the file or the directory.
        read: reads the case in a file.
        trust: whether the user trusts the code that a run names.

    Raises:
        UsageError: there is none.
    """
    if path.is_file():
        yield case_name(path), read(path)
    elif is_run(path):
        yield path.resolve().name, case_of_run(path, trust=trust)
    elif found := files_below(path, ENDING):
        for each in found:
            yield case_name(each, path), read(each)
    elif path.exists():
        raise UsageError(f"{path}: neither a run, nor has it files named *{ENDING}")
    else:
        raise UsageError(f"{path}: there is no such file or directory")
