"""What is given to a process at once: a run, some short ones, or some corners of a small one.

Each kind finds what the others seldom do: *usual* runs and *swarm* runs are long and have many
faults, *short* ones have few clients and one or two faults at the right moment, and *systematic*
ones have one fault at each frame, one after the other.
"""

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Final, Literal, NamedTuple

from rumpus.campaigns.branch_task import BranchOutcome
from rumpus.campaigns.corners import CornersTask, perform_corners
from rumpus.campaigns.run_process import OutOfTimeError, ProcessEndedError
from rumpus.campaigns.short_runs import ShortRunsTask, perform_short_runs_apart
from rumpus.campaigns.tasks import (
    Attempt,
    Origin,
    Underway,
    attempt_of_error,
    call_apart,
    origin,
    out_of_time,
    perform_apart,
)
from rumpus.campaigns.trial_task import TrialTask
from rumpus.exit_codes import DEFECT
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.swarm import ProfileName
from rumpus.runs.run_settings import RunSettings
from rumpus.runs.swarm_settings import as_swarm

RunKind = Literal["usual", "swarm", "short", "systematic"]

RUN_KINDS: Final[tuple[RunKind, ...]] = ("usual", "swarm", "short", "systematic")

SIMULATED_KINDS: Final = frozenset[RunKind]({"short", "systematic"})
"""Kinds whose runs are forked from one beginning."""

Task = TrialTask | ShortRunsTask | CornersTask


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


def task_of(
    kind: RunKind,
    settings: RunSettings,
    profile: ProfileName | None,
    *,
    number: int,
    plan: FaultPlan | None = None,
) -> Task:
    """A piece of some kind.

    Args:
        kind: of its runs.
        settings: what to run; the seed decides all that is random.
        profile: of swarm runs and short ones; None if there are none.
        number: of systematic runs: which corners.
        plan: of usual and swarm runs; None: that of the settings.
    """
    if kind == "short":
        assert profile is not None, "short runs are drawn from a swarm's"
        return ShortRunsTask(settings=settings, profile=profile)
    if kind == "systematic":
        return CornersTask(settings=settings, number=number)
    if kind == "swarm":
        settings = as_swarm(settings, profile)
    return TrialTask(settings=settings, plan=plan)


def submit_task(
    executor: Executor, task: Task, seconds: float = math.inf
) -> Underway[Sequence[Performed]]:
    """Let an executor perform a piece; what takes longer than so many seconds is ended."""
    return Underway(executor, perform_task, task, origin(seconds))


def perform_task(task: Task, given_by: Origin) -> Sequence[Performed]:
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
    except OutOfTimeError as error:
        ended = out_of_time(error)
    except ProcessEndedError as error:
        ended = attempt_of_error(f"a run with a fault at a frame ends its process: {error.how}")
    except EnvironmentRefusal as refusal:
        ended = attempt_of_error(refusal)
    return [BranchOutcome(attempt=ended)]
