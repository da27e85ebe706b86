"""Explores a recipe: runs with seed after seed; each new failure is shrunk to a case."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from itertools import count

from rumpus.campaigns.case import Case, case_of
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import Attempt, attempt_of, submit
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.results.fingerprint import Fingerprint
from rumpus.runs.run_settings import RunSettings


@dataclass
class Found:
    """A failure that an exploration has found.

    Attributes:
        case: the smallest run found that shows it; of the first run, before it is shrunk.
        seed: the first seed that showed it.
        runs: how many runs have shown it.
        operations: how many operations clients call in the case's run.
        shrunk: whether it was shrunk.
        shrinking_runs: how many runs that took.
    """

    case: Case
    seed: int
    operations: int
    runs: int = 1
    shrunk: bool = False
    shrinking_runs: int = 0

    def explains(self, fingerprint: Fingerprint, kinds: Sequence[str]) -> bool:
        """Whether a failure of a run with these kinds of fault is probably this one."""
        return explains(self.case.expects, fingerprint, kinds)


def explains(known: Fingerprint, fingerprint: Fingerprint, kinds: Sequence[str]) -> bool:
    """Whether a known failure explains one of a run: same anomaly, and its faults were there.

    Args:
        known: the failure that is known, with the faults that it needs.
        fingerprint: the failure of a run.
        kinds: the kinds of fault of that run.
    """
    return known.resembles(fingerprint) and set(known.faults) <= set(kinds)


@dataclass
class Exploration:
    """What an exploration has seen so far.

    Attributes:
        runs: how many runs were performed and judged, without those that shrink.
        virtual_seconds: how long they took on their own clocks.
        cpu_seconds: processor time that they took.
        outcomes: outcome -> number of runs.
        signatures: of all runs (`rumpus.results.signatures`).
        found: failures, in the order in which they were found.
        accepted: runs that showed a failure which is known and accepted.
        errors: runs that could not be performed: seed and attempt.
    """

    runs: int = 0
    virtual_seconds: float = 0.0
    cpu_seconds: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    signatures: set[int] = field(default_factory=set)
    found: list[Found] = field(default_factory=list)
    accepted: int = 0
    errors: list[tuple[int, Attempt]] = field(default_factory=list)


class Explorer:
    """Explores one recipe.

    Args:
        settings: what to run; its seed is the first one.
        executor: performs runs.
        jobs: how many at once.
        known: failures that are accepted.
        profile: the swarm of runs with odd seeds; None: they are like the others. What one kind of
            plan finds is often not found by the other.
        shrink_budget: seconds to shrink each failure; 0: do not shrink.
        clock: seconds, monotonic.
        notify: called when something has changed.

    Attributes:
        exploration: what it has seen so far.
    """

    def __init__(
        self,
        settings: RunSettings,
        executor: Executor,
        *,
        jobs: int,
        known: Sequence[Fingerprint] = (),
        profile: str | None = None,
        shrink_budget: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        notify: Callable[[Exploration], None] = lambda _: None,
    ) -> None:
        self.exploration = Exploration()
        self._settings = settings
        self._executor, self._jobs = executor, jobs
        self._known = known
        self._profile = profile
        self._shrink_budget = shrink_budget
        self._clock = clock
        self._notify = notify
        self._shrinking_s = 0.0

    def explore(self, *, seeds: int | None = None, budget: float | None = None) -> Exploration:
        """Perform runs until so many seeds, or so many seconds, are over.

        Failures are looked at in the order of their seeds. The time that shrinking takes does not
        count.
        """
        began = self._clock()
        for seed, told in self._in_order(seeds):
            self._note(seed, told)
            self._notify(self.exploration)
            if budget is not None and self._clock() - began - self._shrinking_s >= budget:
                break
        return self.exploration

    def _in_order(self, seeds: int | None) -> Iterator[tuple[int, Attempt]]:
        """Seeds and what became of their runs, in order of seeds; ``jobs`` runs are under way."""
        first = self._settings.seed or 0
        left = iter(range(first, first + seeds)) if seeds is not None else count(first)
        going: deque[tuple[int, Future[Attempt]]] = deque()
        try:
            while True:
                for seed in left:
                    settings = replace(self._settings, seed=seed)
                    if self._profile is not None and seed % 2:
                        settings = replace(settings, swarm=self._profile)
                    going.append((seed, submit(self._executor, TrialTask(settings=settings))))
                    if len(going) >= self._jobs + 1:
                        break
                if not going:
                    return
                seed, future = going.popleft()
                yield seed, attempt_of(future)
        finally:
            for _, future in going:
                future.cancel()

    def _note(self, seed: int, told: Attempt) -> None:
        exploration, outcome = self.exploration, told.outcome
        if outcome is None:
            exploration.errors.append((seed, told))
            return
        exploration.runs += 1
        exploration.virtual_seconds += outcome.virtual_seconds
        exploration.cpu_seconds += outcome.cpu_seconds
        exploration.outcomes[outcome.outcome] = exploration.outcomes.get(outcome.outcome, 0) + 1
        exploration.signatures |= outcome.signatures
        for seen in outcome.seen:
            if seen.promised:
                self._note_failure(seed, outcome, seen)

    def _note_failure(self, seed: int, outcome: TrialOutcome, seen: Seen) -> None:
        kinds = outcome.plan.kinds
        if any(explains(known, seen.fingerprint, kinds) for known in self._known):
            self.exploration.accepted += 1
            return
        for found in self.exploration.found:
            if found.explains(seen.fingerprint, kinds):
                found.runs += 1
                return
        found = Found(case_of(outcome, seen), seed, outcome.operations)
        if self._shrink_budget:
            self._notify(self.exploration)
            began = self._clock()
            shrinking = Shrinking(
                outcome,
                seen,
                self._executor,
                jobs=self._jobs,
                budget=self._shrink_budget,
                clock=self._clock,
            )
            case = shrinking.shrink()
            self._shrinking_s += self._clock() - began
            for earlier in self.exploration.found:
                if earlier.case.expects == case.expects:
                    earlier.runs += 1
                    return
            found = Found(
                case,
                seed,
                shrinking.outcome.operations,
                shrunk=True,
                shrinking_runs=shrinking.runs,
            )
        self.exploration.found.append(found)
