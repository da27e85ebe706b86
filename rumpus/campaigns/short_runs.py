"""Many short runs that begin alike, as branches of one run.

A long run with many faults costs a second or more, and an anomaly that needs two clients and one
or two faults at the right moment is seldom in it. Short runs with few clients cost a tenth of that.
Those of one seed share their beginning: up to its first fault a run is the same as the others, so
the process is forked there.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec

from rumpus.campaigns.branch_task import BranchTask, perform_branches
from rumpus.campaigns.run_process import (
    OutOfTimeError,
    ProcessEndedError,
    Surroundings,
    surroundings,
)
from rumpus.campaigns.tasks import (
    Attempt,
    Underway,
    attempt_of_error,
    call_apart,
    out_of_time,
)
from rumpus.campaigns.trial_task import TrialTask
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import SOUND
from rumpus.nemesis.swarm import ProfileName, swarm_plan
from rumpus.runs.forks import Branch
from rumpus.runs.performing import find_fault, find_recipe, known_workload
from rumpus.runs.run_options import TICK_MS
from rumpus.runs.run_settings import RunSettings
from rumpus.runs.swarm_settings import short_settings

COUNT: Final = 16
"""How many short runs a seed makes."""

EMPTY: Final = FaultPlan(version=1, punctual=True)


@dataclass(frozen=True, kw_only=True)
class ShortRunsTask:
    """Short runs that are to be performed and judged.

    Attributes:
        settings: what to run; the seed decides the sizes, the usage and all plans.
        profile: of the swarm that the plans are drawn from.
        count: how many.
    """

    settings: RunSettings
    profile: ProfileName
    count: int = COUNT


class ShortRun(NamedTuple):
    """A short run that was performed, or could not be.

    Attributes:
        task: the same run, to be performed from its beginning.
        attempt: what became of it.
    """

    task: TrialTask
    attempt: Attempt


def draw(task: ShortRunsTask) -> list[TrialTask]:
    """The runs, each with a plan of its own.

    Raises:
        UsageError: there is no such workload or fault.
        PlanError: there is no such kind of fault, or none of them is possible.
    """
    settings = task.settings
    seed = settings.seed or 0
    own = [find_fault(reference).kind for reference in settings.fault]
    kinds = SOUND if settings.nemesis is None else settings.nemesis
    workload = known_workload(settings.workload)
    name = settings.recipe or next(iter(workload.catalogue), "")
    least = workload.least_clients(find_recipe(workload, settings, name))
    drawn = short_settings(settings, seed, least_clients=least)
    short = replace(settings, **drawn, nemesis=None, swarm=None)
    plans = (
        swarm_plan(
            [*kinds, *own],
            seed=seed * task.count + number,
            profile=task.profile,
            time_limit=short.time_limit,
            nodes=short.nodes,
            clients=short.clients,
            session_timeout=short.session_timeout,
            tick=TICK_MS / 1000,
            requests=workload.requests,
        )
        for number in range(task.count)
    )
    return [
        TrialTask(settings=short, plan=msgspec.structs.replace(plan, seed=None)) for plan in plans
    ]


def perform(task: ShortRunsTask) -> list[ShortRun]:
    """Perform the runs as branches of one, and judge each, in this process.

    If none can be performed, that is told as one run.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    try:
        drawn = draw(task)
    except Exception as error:  # told to whoever gave the task
        return [ShortRun(TrialTask(settings=task.settings), attempt_of_error(error))]
    branches = []
    for each in drawn:
        plan = each.plan or EMPTY
        branches.append(Branch(min((e.at for e in plan.entries), default=0.0), plan))
    together = BranchTask(settings=drawn[0].settings, plan=EMPTY, branches=tuple(branches))
    told = perform_branches(together)
    return [ShortRun(each, branch.attempt) for each, branch in zip(drawn, told, strict=True)]


def submit(executor: Executor, task: ShortRunsTask) -> Underway[Sequence[ShortRun]]:
    """Let an executor perform the runs, in a process of their own.

    The attempt of a run that has ended its process says no more than that: perform its task alone.
    """
    return Underway(executor, perform_short_runs_apart, task, surroundings())


def perform_short_runs_apart(task: ShortRunsTask, where: Surroundings) -> Sequence[ShortRun]:
    """Perform the runs in this thread's process.

    Args:
        task: the runs.
        where: where modules and files are found.
    """
    try:
        return call_apart(where, perform, task)
    except OutOfTimeError as error:
        return [ShortRun(TrialTask(settings=task.settings), out_of_time(error))]
    except ProcessEndedError as error:
        lost = attempt_of_error(f"the run ends its process: {error.how}")
        return [ShortRun(each, lost) for each in call_apart(where, draw, task)]
