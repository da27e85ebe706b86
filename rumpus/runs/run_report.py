"""The end of ``rumpus run`` and of ``rumpus check``: a run judged from disk, stored and printed."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from rumpus.checker.verdict import Verdict
from rumpus.consoles import print_json, shown
from rumpus.exit_codes import VIOLATION
from rumpus.recipes.promises import Promises
from rumpus.results.escapes import escaped
from rumpus.results.reports.terminal import print_verdict
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory
from rumpus.results.signed_seal import SigningKey, sign, signing_of
from rumpus.results.store_error import StoreError
from rumpus.runs.judging import collector_at_rest, judge_stored, weigh_interruption
from rumpus.runs.made_here import note_written
from rumpus.workloads.framework.workload import Workload


def report(
    directory: RunDirectory,
    console: Console,
    *,
    as_json: bool,
    workload: Workload | None = None,
    promises: Promises | None = None,
    only_sealed: bool = False,
    interrupted: Callable[[], bool] = lambda: False,
    weigh: Callable[[Verdict], None] = lambda _: None,
    key: SigningKey | None = None,
) -> int:
    """Judge a run from disk, write its results and print them; the exit code.

    A violation is printed and sets the exit code even if its results cannot be written.

    Args:
        directory: the run.
        console: where the verdict is printed for people.
        as_json: whether the results go to standard output, too.
        workload: what made the run, if it is a class of another repository.
        promises: what its recipe promises, if it is one of another repository.
        only_sealed: whether the report shows nothing that the run's seal does not have.
        interrupted: whether the run has been interrupted by now.
        weigh: changes the verdict by what else is known of the run.
        key: what the run's seal is signed with, at the end: an interruption makes the seal again.

    Raises:
        UnreadableRun: something is missing or malformed, or the run cannot be signed.
        StoreError: the results or the signature cannot be written; the verdict has been printed.
    """
    with collector_at_rest():
        own = (workload, promises)
        code = _report(directory, console, as_json, own, only_sealed, interrupted, weigh)
    if key is not None:
        try:
            sign(directory.path, key)
        except StoreError as error:
            _refuse(error, console, violation=code == VIOLATION)
    return code


def print_signing(directory: RunDirectory, console: Console) -> None:
    """Print who has signed a run's seal."""
    signing = signing_of(directory.path)
    style = "yellow" if signing.doubtful else ""
    console.print(Text(f"signed by:  {escaped(signing.words)}", style), soft_wrap=True)


def _report(
    directory: RunDirectory,
    console: Console,
    as_json: bool,
    own: tuple[Workload | None, Promises | None],
    only_sealed: bool,
    interrupted: Callable[[], bool],
    weigh: Callable[[Verdict], None],
) -> int:
    record, timeline, verdict = judge_stored(directory, *own)
    weigh(verdict)
    if interrupted() and not record.interrupted:
        record.interrupted = True
        directory.write_record(record)
        directory.seal()
        weigh_interruption(verdict)
    results = results_document(directory.path, record, timeline, verdict)
    unstored: StoreError | None = None
    try:
        directory.finish(record, timeline, verdict, results, only_sealed=only_sealed)
    except StoreError as error:
        unstored = error
    else:
        note_written(directory.path, lambda line: console.print(Text(line), soft_wrap=True))
    print_verdict(console, record, timeline.history, verdict, results, shown(directory.report))
    if unstored is not None:
        _refuse(unstored, console, violation=verdict.outcome == "violation")
    if as_json:
        print_json(results.to_json())
    return verdict.exit_code


def _refuse(error: StoreError, console: Console, *, violation: bool) -> None:
    """Raise an error, or only print it: a violation sets the exit code whatever else fails."""
    if not violation:
        raise error
    console.print(Text(f"rumpus: {error}", style="red"), soft_wrap=True)
