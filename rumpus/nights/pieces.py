"""Pieces of a night: what is given to a process at once, from one run to a few dozen short ones."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import NamedTuple

from rumpus.campaigns.branch_task import BranchOutcome
from rumpus.campaigns.corners import CornersTask, perform_corners, small_settings
from rumpus.campaigns.run_process import ProcessEndedError
from rumpus.campaigns.short_runs import ShortRunsTask, perform_short_runs_apart
from rumpus.campaigns.tasks import (
    Attempt,
    Origin,
    Underway,
    attempt_of_error,
    call_apart,
    origin,
    perform_apart,
)
from rumpus.campaigns.trial_task import TrialTask
from rumpus.exit_codes import DEFECT
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nights.night_file import RunKind
from rumpus.nights.records import Ensemble, Role
from rumpus.nights.subjects import OnTrial

Task = TrialTask | ShortRunsTask | CornersTask


@dataclass(frozen=True, kw_only=True, eq=False)
class Piece:
    """One piece.

    Attributes:
        role: why it is performed.
        subject: what is on trial, in words (``Subject.key``).
        world: where.
        task: what to perform.
        kind: what kind of runs these are.
        seed: of its first run.
        name: of the case or the canary.
        digest: of a run that is performed again: what it must be.
    """

    role: Role
    subject: str
    world: Ensemble
    task: Task
    kind: str = "usual"
    seed: int = 0
    name: str = ""
    digest: str | None = None


class Performed(NamedTuple):
    """A run of a piece.

    Attributes:
        attempt: what became of it.
        task: performs it again, alone; None if its plan is in what it has shown.
        kind: ``base`` is the run without faults of a systematic piece.
    """

    attempt: Attempt
    task: TrialTask | None = None
    kind: str = ""


def trial_piece(on: OnTrial, kind: RunKind, seed: int) -> Piece:
    """A piece that puts a subject on trial.

    Args:
        on: the subject.
        kind: of its runs.
        seed: decides all that is random; of systematic runs: which corners.
    """
    settings = replace(on.settings, seed=seed)
    task: Task
    if kind == "short":
        task = ShortRunsTask(settings=settings, profile=on.profile)
    elif kind == "systematic":
        task = CornersTask(settings=small_settings(on.settings), number=seed)
    else:
        task = TrialTask(
            settings=replace(settings, swarm=on.profile) if kind == "swarm" else settings
        )
    subject = on.subject
    return Piece(
        role="run", subject=subject.key, world=subject.world, task=task, kind=kind, seed=seed
    )


def submit_piece(executor: Executor, piece: Piece) -> Underway[Sequence[Performed]]:
    """Let an executor perform a piece."""
    return Underway(executor, perform_piece, piece.task, origin())


def perform_piece(task: Task, given_by: Origin) -> Sequence[Performed]:
    """Perform a piece in this thread's process; its runs.

    A short run that has ended its process is performed again, alone, which tells more.
    """
    if isinstance(task, TrialTask):
        return [Performed(perform_apart(task, given_by), task)]
    if other := given_by.other_software():
        return [Performed(attempt_of_error(EnvironmentRefusal(f"this machine has {other}")))]
    if isinstance(task, CornersTask):
        branches = _corners_apart(task, given_by)
        return [
            Performed(each.attempt, kind="base" if number == 0 else "")
            for number, each in enumerate(branches)
        ]
    made = []
    for run in perform_short_runs_apart(task, given_by.surroundings):
        again = run.attempt.outcome is None and run.attempt.exit_code == DEFECT
        attempt = perform_apart(run.task, given_by) if again else run.attempt
        made.append(Performed(attempt, run.task))
    return made


def _corners_apart(task: CornersTask, given_by: Origin) -> Sequence[BranchOutcome]:
    try:
        return call_apart(given_by.surroundings, perform_corners, task)
    except ProcessEndedError as error:
        ended = attempt_of_error(f"a run with a fault at a frame ends its process: {error.how}")
    except EnvironmentRefusal as refusal:
        ended = attempt_of_error(refusal)
    return [BranchOutcome(attempt=ended)]
