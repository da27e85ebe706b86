"""A simulated run that is performed up to some moments once, and from there in several branches."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from rumpus.harness.links.triggers import FrameSeen
from rumpus.harness.scratch import scratch, vanished
from rumpus.interruption import Interruption
from rumpus.nemesis.plan import FaultPlan
from rumpus.runs.forks import Branch, Forks
from rumpus.runs.judged_run import JudgedRun
from rumpus.runs.judging import collector_at_rest, judge_run
from rumpus.runs.performing import PreparedRun
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

T = TypeVar("T")


def branched_run(
    settings: RunSettings,
    plan: FaultPlan,
    branches: Sequence[Branch],
    examine: Callable[[JudgedRun, Sequence[FrameSeen]], T],
    failed: Callable[[BaseException | str], T],
    say: Callable[[str], None] = lambda _: None,
    *,
    frames: bool = False,
) -> list[T]:
    """Perform a run in several branches, and judge each.

    A branch is the very run that its plan makes from the beginning: the digests are equal.

    Args:
        settings: what to run, in the simulation.
        plan: with which the run begins.
        branches: at least one.
        examine: makes a result of a branch that was performed, and of the clients' frames; the
            run's files exist meanwhile.
        failed: makes a result of a branch that could not be performed: of an error, or the reason
            in words.
        say: called with a line for every step.
        frames: whether clients' frames are noted, which takes time.

    Returns:
        The results, one for each branch.

    Raises:
        UsageError: something asked for does not exist or cannot be done, in no branch.
        EnvironmentRefusal: this host does not allow it.
        ValueError: a branch differs from the plan before its time.
        KeyboardInterrupt: Ctrl-C; nothing is left of the run.
    """
    if settings.ensemble != "sim":
        raise UsageError(f"--ensemble {settings.ensemble}: only simulated runs branch")
    forks = Forks(plan, branches, failed, frames=frames)
    interruption = Interruption()
    with interruption.passed_on(), scratch("run") as place, forks.ending():
        prepared = PreparedRun(replace(settings, runs=place), say, plan=plan)
        try:
            with interruption.listening(say):
                directory = prepared.perform(interrupted=interruption.requested, forks=forks)
            with collector_at_rest():
                judgement = judge_run(directory, prepared.workload, prepared.promises)
                judged = JudgedRun(directory, judgement)
                result = examine(judged, forks.frames())
        except BaseException as error:
            if not forks.is_child and not isinstance(error, Exception):
                raise
            result = failed(error if place.exists() else vanished(place))
        if interruption.requested() and not forks.is_child:
            raise KeyboardInterrupt
        forks.told(result)
    never = f"the run ended before this branch began: {result}"
    return [forks.results.get(number, failed(never)) for number in range(len(branches))]
