"""Judges a run from its directory: everything is read back from disk."""

import contextlib
import gc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.every_run.errors import unimplemented
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Verdict
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import SERVICES
from rumpus.results.record import RunRecord
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import UnreadableRun
from rumpus.runs.laying_out import MOST_TOLD, lay_out, lossy_faults, workload_of
from rumpus.runs.made_here import STRANGE, is_made_here
from rumpus.runs.run_files import RunFiles, read_run
from rumpus.usage_error import UsageError
from rumpus.workloads.framework.judgement import OF_SERVERS, judge_timeline
from rumpus.workloads.framework.operation_values import check_operations
from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS


@contextlib.contextmanager
def collector_at_rest() -> Iterator[None]:
    """Disable the cyclic garbage collector in the block.

    A run is read into millions of objects without cycles. Scanning them again and again would take
    a fifth of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Judgement(NamedTuple):
    """A run that was judged."""

    record: RunRecord
    timeline: Timeline
    verdict: Verdict


def judge_run(
    run: RunDirectory, workload: Workload | None = None, promises: Promises | None = None
) -> Judgement:
    """Judge a run from its directory.

    Args:
        run: the directory.
        workload: what made the run, if it is a class of another repository. Code that only the
            files of a run name is never imported: they may be a stranger's.
        promises: what its recipe promises, if it is one of another repository. Without them they
            are on trust, and the verdict is at most unknown.

    Raises:
        UnreadableRun: something is missing or malformed, or the run is one of another workload.
    """
    return judge_files(read_run(run), workload, promises)


_SENSELESS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What Python raises if a value is not what a check takes it for."""


def judge_stored(
    run: RunDirectory, workload: Workload | None = None, promises: Promises | None = None
) -> Judgement:
    """Judge a run that may be a stranger's; see ``judge_run``.

    What a check of ours cannot make sense of is a defect in files that were made here; in all
    others it is something that no run writes.

    Raises:
        UnreadableRun: likewise, or a check cannot make sense of what was not made here.
    """
    try:
        return judge_run(run, workload, promises)
    except _SENSELESS as error:
        if is_made_here(run.path) and not run.changes():
            raise
        raise UnreadableRun(
            run.path,
            "no run writes such files, and a check cannot make sense of them "
            f"({type(error).__name__}: {error}; -v shows where)",
            "restore what the run wrote",
        ) from error


def judge_files(
    files: RunFiles, workload: Workload | None = None, promises: Promises | None = None
) -> Judgement:
    """Judge what was read of a run; see ``judge_run``.

    Raises:
        UnreadableRun: the parts of the run do not fit together, or it is one of another workload.
    """
    run, record = files.directory, files.record
    workload = workload_of(run, record, workload)
    timeline, questions = lay_out(files, workload, promises)
    timeline, verdict = judge_laid_out(run.history, workload, record.recipe, timeline, questions)
    verdict.notes = _of_logs(files.truth)
    if timeline.lossy:
        what = (
            f"whether the servers kept {', '.join(sorted(OF_SERVERS))}: their disks lost what "
            f"they should have kept ({', '.join(lossy_faults(record))})"
        )
        verdict.checks.append(CheckResult(name="disks", unjudged=[what]))
    missing = files.truth is None and files.leases is None and files.changed == []
    if missing and record.system != SERVICES:
        verdict.notes.append("no transaction logs of the servers are at hand")
    if record.interrupted:
        weigh_interruption(verdict)
    return Judgement(record, timeline, verdict)


def _of_logs(truth: ServerTruth | None) -> list[str]:
    """What the servers' logs leave open, in words."""
    if truth is None:
        return []
    found = [
        *truth.reasons,
        *truth.notes,
        *(
            f"the tree of {each.name} was not compared with the others ({each.unread})"
            for each in truth.replicas
            if each.differing is None
        ),
        *(
            f"threads of {each.name} ended with an exception, {each.own_words.severe} in all"
            for each in truth.replicas
            if each.own_words.severe
        ),
    ]
    more = [f"and {len(found) - MOST_TOLD} more"] * (len(found) > MOST_TOLD)
    return [f"the servers' logs: {what}" for what in [*found[:MOST_TOLD], *more]]


def judge_laid_out(
    path: Path,
    workload: Workload,
    recipe: str,
    timeline: Timeline,
    questions: Sequence[CheckResult] = (),
) -> tuple[Timeline, Verdict]:
    """Have a workload judge a timeline, once it is known that it can.

    Args:
        path: the history's file, for errors.
        workload: which family it is.
        recipe: whose promises they are; this version need not know it.
        timeline: the run.
        questions: checks that are undecided already.

    Returns:
        The timeline as it was judged, and the verdict.

    Raises:
        UnreadableRun: the history has operations or values that the workload does not have; the
            message names the record.
    """
    try:
        check_operations(timeline.history, workload.name, workload.shapes)
    except ValueError as error:
        raise _foreign(path, workload, error) from error
    if lacking := unimplemented(timeline.history):
        timeline = replace(timeline, promises=Promises(prevents=frozenset()), strict=False)
        questions = [*questions, CheckResult(name="requests", unknown=[lacking])]
    try:
        return timeline, judge_timeline(timeline, workload, recipe, questions)
    except WrongOperations as error:  # each value is right, but they do not fit together
        raise _foreign(path, workload, error) from error
    except Exception as error:
        if WORKLOADS.get(workload.name) is workload:
            raise
        raise UsageError(
            f"{workload.build}: its checks fail ({type(error).__name__}: {error}); -v shows where"
        ) from error


def _foreign(path: Path, workload: Workload, error: Exception) -> UnreadableRun:
    return UnreadableRun(
        path, f"no history of {workload.name} ({error})", "see docs/reference/history-format.md"
    )


def weigh_origin(run: RunDirectory, verdict: Verdict) -> None:
    """A run that was not made here is not valid by its own files: `rumpus.runs.made_here`."""
    if verdict.outcome == "valid" and not is_made_here(run.path):
        weigh_doubt(verdict, STRANGE)


def weigh_doubt(verdict: Verdict, reason: str) -> None:
    """Let only a violation stand: what is doubtful shows nothing else."""
    if verdict.outcome != "violation":
        verdict.valid, verdict.outcome = "unknown", "unknown"
    verdict.reasons.insert(0, reason)


def weigh_interruption(verdict: Verdict) -> None:
    """Let only a violation stand: an interrupted run that shows none is inconclusive."""
    if verdict.outcome == "violation":
        return
    if verdict.outcome == "valid":
        verdict.valid, verdict.outcome = "unknown", "inconclusive"
    verdict.reasons.insert(0, "the run was interrupted")
