"""A run that is performed and judged, in a temporary directory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rumpus.harness.scratch import scratch
from rumpus.interruption import Interruption
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.judging import Judgement, collector_at_rest, judge_run
from rumpus.runs.onlookers import FOLLOWING, telling
from rumpus.runs.performing import PreparedRun
from rumpus.runs.run_settings import RunSettings


@dataclass(frozen=True)
class JudgedRun:
    """A run and its judgement.

    Attributes:
        directory: its files; they are gone when the block of ``judged_run`` ends, unless somebody
            moves them.
        judgement: what was run, what happened, and the verdict.
    """

    directory: RunDirectory
    judgement: Judgement


@contextmanager
def judged_run(
    settings: RunSettings,
    say: Callable[[str], None],
    *,
    plan: FaultPlan | None = None,
    directed: bool | None = None,
) -> Iterator[JudgedRun]:
    """Perform a run and judge it; its files exist while the block runs.

    Args:
        settings: what to run; its ``runs`` is not used.
        say: called with a line for every step.
        plan: the faults; None: those of the settings.
        directed: whether they were directed, and not drawn, for what the run must have exercised;
            None: a plan that is given is.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed, by an error in the recipe's module, say.
        KeyboardInterrupt: Ctrl-C; the run is brought to its end before, and nothing is left of it.
    """
    say = telling(say)
    interruption = Interruption()
    with interruption.passed_on(), scratch("run") as place:
        prepared = PreparedRun(replace(settings, runs=place), say, plan=plan, directed=directed)
        with interruption.listening(say):
            directory = prepared.perform(
                interrupted=interruption.requested, following=FOLLOWING.get()
            )
        if interruption.requested():
            raise KeyboardInterrupt
        say("judging")
        with collector_at_rest():
            yield JudgedRun(directory, judge_run(directory, prepared.workload, prepared.promises))
