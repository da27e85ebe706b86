"""Performs futures of a failing run from several of its moments, to see when it became likely."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Final

import msgspec

from rumpus.campaigns.branch_task import BranchTask, submit_branches
from rumpus.campaigns.case import Case
from rumpus.harness.run_limits import RUN_S
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.targets import Targets
from rumpus.results.likelihood import Likelihood, Moment
from rumpus.runs.forks import Branch

FIRST_S: Final = 0.15
"""The first moment that is looked at, in seconds of load."""

LAST_S: Final = 0.01
"""The last one, in seconds before the end of the load."""

RESEED_S: Final = 0.001

NEAREST_S: Final = 0.2
"""How near two moments are at which looking for a step ends, in seconds."""


class Futures:
    """Measures how likely a case's failure is from each moment of its run.

    A future has the run's past, other random choices, and none of the faults that were to come. At
    the end of the load no fault is to come any more, and the only future is the run as it was.

    Args:
        case: the failure.
        executor: performs tasks.
        jobs: how many at once.
        futures: how many of each moment.
        notify: called after each round of moments.

    Attributes:
        runs: how many futures were performed.
        cpu_seconds: processor time of all of them.
    """

    def __init__(
        self,
        case: Case,
        executor: Executor,
        *,
        jobs: int = 1,
        futures: int = 8,
        budget: float = RUN_S,
        notify: Callable[[Likelihood], None] = lambda _: None,
    ) -> None:
        self.runs = 0
        self.cpu_seconds = 0.0
        self._case = case
        self._executor, self._jobs = executor, jobs
        self._futures = futures
        self._budget = budget
        self._notify = notify
        self._moments: dict[float, Moment] = {}

    def measure(self, moments: int = 12) -> Likelihood:
        """Look at so many moments, evenly spaced, and then at more of them around the step.

        Raises:
            UsageError, EnvironmentRefusal: a future cannot be performed.
        """
        limit = self._case.task().settings.time_limit
        last = max(FIRST_S, limit - LAST_S)
        count = max(2, moments)
        width = (last - FIRST_S) / (count - 1)
        self._look([*(round(FIRST_S + width * number, 3) for number in range(count)), limit])
        while (step := self._likelihood().step()) is not None:
            before, after = step
            if after - before <= NEAREST_S:
                break
            self._look([round((before + after) / 2, 3)])
        return self._likelihood()

    def _likelihood(self) -> Likelihood:
        return Likelihood(
            failure=str(self._case.expects),
            moments=tuple(self._moments[at] for at in sorted(self._moments)),
        )

    def _look(self, times: Sequence[float]) -> None:
        """Perform the futures of some moments."""
        settings = self._case.task().settings
        counts = {at: self._futures if at < settings.time_limit else 1 for at in times}
        branches = [
            Branch(min(at, settings.time_limit - LAST_S), self._future(at, number))
            for at, count in counts.items()
            for number in range(count)
        ]
        moments = [at for at, count in counts.items() for _ in range(count)]
        futures = [
            submit_branches(
                self._executor,
                BranchTask(settings=settings, plan=self._case.plan, branches=tuple(piece)),
                self._budget * (1 + len(piece)),
            )
            for first in range(self._jobs)
            if (piece := branches[first :: self._jobs])
        ]
        failed = dict.fromkeys(times, 0)
        for first, future in enumerate(futures):
            for at, told in zip(moments[first :: self._jobs], future.result(), strict=True):
                told.attempt.raise_error()
                assert told.outcome is not None
                self.runs += 1
                self.cpu_seconds += told.outcome.cpu_seconds
                seen = told.outcome.find(self._case.expects, promised=self._case.promised)
                failed[at] += seen is not None
        for at, count in counts.items():
            self._moments[at] = Moment(at=at, futures=count, failed=failed[at])
        self._notify(self._likelihood())

    def _future(self, at: float, number: int) -> FaultPlan:
        plan = self._case.plan
        if at >= self._case.task().settings.time_limit:
            return plan
        past = [entry for entry in plan.entries if entry.at < at]
        reseed = Entry(
            id=1 + max((entry.id for entry in plan.entries), default=0),
            at=at,
            kind="reseed",
            targets=Targets(),
            duration=RESEED_S,
            options={"number": number + 1},
        )
        return msgspec.structs.replace(plan, entries=(*past, reseed))
