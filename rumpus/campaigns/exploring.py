"""Explores a recipe: runs with seed after seed; each new failure is shrunk to a case."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Final

from rumpus.campaigns.case import case_of
from rumpus.campaigns.findings import Death, Findings, Found, Unperformed
from rumpus.campaigns.looks import Failure
from rumpus.campaigns.pieces import (
    RUN_KINDS,
    SIMULATED_KINDS,
    Performed,
    RunKind,
    submit_task,
    task_of,
)
from rumpus.campaigns.rulings import Rulings
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import Attempt, Underway
from rumpus.campaigns.trial_task import Seen, TrialOutcome
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.swarm import ProfileName
from rumpus.results.fingerprint import Fingerprint
from rumpus.runs.run_settings import RunSettings, command_line
from rumpus.runs.shard import Shard
from rumpus.runs.swarm_settings import as_swarm

KINDS: Final = len(RUN_KINDS)
"""Of so many seeds in a row each makes runs of another kind."""

WINDOW: Final = 4
"""How many runs are given to an executor, for each that it performs at once.

Runs are looked at in the order of their seeds, and some take ten times as long as others. With
fewer, processes would wait for a slow run.
"""

_Underway = Underway[Sequence[Performed]]
"""The runs of a seed."""


@dataclass
class Exploration:
    """What an exploration has seen so far.

    Attributes:
        runs: how many runs were performed and judged, without those that shrink.
        short_runs: how many of them were short ones, or systematic ones, which are short, too.
        systematic: how many seeds have made systematic ones that could be performed.
        virtual_seconds: how long they took on their own clocks.
        cpu_seconds: processor time that they took.
        outcomes: outcome -> number of runs.
        short_outcomes: outcome -> number of short runs. Too little happens in most of them for a
            verdict, but for that something is wrong.
        signatures: of all runs (`rumpus.results.signatures`).
        findings: what has failed.
        errors: runs that could not be performed.
    """

    findings: Findings
    runs: int = 0
    short_runs: int = 0
    systematic: int = 0
    virtual_seconds: float = 0.0
    cpu_seconds: float = 0.0
    outcomes: dict[str, int] = field(default_factory=dict)
    short_outcomes: dict[str, int] = field(default_factory=dict)
    signatures: set[int] = field(default_factory=set)
    errors: list[Unperformed] = field(default_factory=list)

    @property
    def undecided(self) -> bool:
        """Whether it decides nothing: most of its runs could not be decided, or there are none.

        Short runs count only where there are no others.
        """
        usual = Counter(self.outcomes)
        usual.subtract(self.short_outcomes)
        judged = +usual or Counter(self.outcomes)
        return 2 * judged["valid"] <= judged.total()

    @property
    def unexplained(self) -> int:
        """How many violations are neither among the failures nor accepted.

        With ``strict`` hazards make them, and are no failures; else there are none.
        """
        noted = len(self.findings.failures) + self.findings.accepted
        return max(0, self.outcomes.get("violation", 0) - noted)

    @property
    def refused(self) -> bool:
        """Whether all of its runs were refused, those of at least one seed of each kind."""
        seeds = {error.seed for error in self.errors}
        return not self.runs and not self.findings.deaths and len(seeds) >= KINDS

    def raise_refusal(self) -> None:
        """Raise the gravest error, if no run at all was performed.

        Raises:
            UsageError, EnvironmentRefusal, WorkerCrash, RuntimeError: see `Attempt.raise_error`.
        """
        if self.errors and not self.runs and not self.findings.deaths:
            gravest = max(self.errors, key=lambda each: each.exit_code)
            Attempt(error=gravest.why, exit_code=gravest.exit_code).raise_error()


class Explorer:
    """Explores one recipe.

    Which failures are found depends on the seeds alone, not on how many runs are performed at once,
    or where.

    Args:
        settings: what to run; its seed is the first one.
        executor: performs runs.
        jobs: how many at once.
        plan: the faults of all runs; None: those of the settings.
        shard: which seeds are taken.
        known: failures that are accepted.
        profile: of swarm runs and short runs, which take turns with usual and systematic ones;
            None: all runs are usual. What one kind finds is often not found by the others.
        corners: which corners come first; None: the first seed says it.
        shrink: how many smaller runs to try for each failure; 0: do not shrink.
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
        plan: FaultPlan | None = None,
        shard: Shard | None = None,
        known: Sequence[Fingerprint] = (),
        rulings: Rulings | None = None,
        profile: ProfileName | None = None,
        corners: int | None = None,
        shrink: int = 300,
        clock: Callable[[], float] = time.monotonic,
        notify: Callable[[Exploration], None] = lambda _: None,
    ) -> None:
        self.exploration = Exploration(Findings(known, rulings))
        self._settings, self._plan = settings, plan
        self._executor, self._jobs = executor, jobs
        self._shard = shard or Shard()
        self._profile = profile
        first = settings.seed or 0
        self._corners = first // KINDS if corners is None else corners
        self._first_round = first // KINDS
        self._shrink = shrink
        self._clock = clock
        self._notify = notify
        self._shrinking_s = 0.0

    def explore(
        self,
        *,
        seeds: int | None = None,
        budget: float | None = None,
        until: Callable[[Exploration], bool] = lambda _: False,
    ) -> Exploration:
        """Perform runs until so many seeds, or so many seconds, are over, or enough was seen.

        Failures are looked at in the order of their seeds. The time that shrinking takes does not
        count. What has been performed when the time is over is still looked at. It ends early if
        all runs are refused: what makes them so would hold for the others, too.

        Args:
            seeds: how many.
            budget: seconds.
            until: asked after each seed whether that is enough.

        Raises:
            EnvironmentRefusal: whoever performs runs has gone.
        """
        began = self._clock()

        def over() -> bool:
            return budget is not None and self._clock() - began - self._shrinking_s >= budget

        for seed, underway in self._in_order(seeds, over):
            if over() and self.exploration.runs and not underway.done():
                underway.cancel()
                break
            made = underway.result()
            performed = any(each.attempt.outcome is not None for each in made)
            self.exploration.systematic += performed and self._kind(seed) == "systematic"
            for each in made:
                self._note(seed, each.attempt)
            self._notify(self.exploration)
            if self.exploration.refused or until(self.exploration):
                break
        return self.exploration

    def _in_order(
        self, seeds: int | None, over: Callable[[], bool]
    ) -> Iterator[tuple[int, _Underway]]:
        """Seeds and their runs, in order of seeds; further ones are under way until it is over."""
        first = self._settings.seed or 0
        all_seeds = range(first, first + seeds) if seeds is not None else count(first)
        left = (seed for seed in all_seeds if self._shard.has(seed))
        going: deque[tuple[int, _Underway]] = deque()
        wanted = WINDOW * self._jobs
        try:
            while True:
                for seed in islice(left, max(0, wanted - len(going))):
                    going.append((seed, self._begin(seed)))
                if not going:
                    return
                yield going.popleft()
                if over():
                    wanted = 0
        finally:
            for _, underway in going:
                underway.cancel()

    def _begin(self, seed: int) -> _Underway:
        settings, kind = self._settings_of(seed), self._kind(seed)
        task = task_of(
            kind,
            settings,
            self._profile,
            number=self._corners + seed // KINDS - self._first_round,
            plan=self._plan,
        )
        return submit_task(self._executor, task)

    def _kind(self, seed: int) -> RunKind:
        """What kind of runs a seed makes: by turns; on real servers only those that are not forked.

        Systematic runs begin alike whatever the seed, so they may have come before.
        """
        if self._profile is None:
            return "usual"
        kind = RUN_KINDS[seed % KINDS]
        simulated = self._settings.ensemble == "sim"
        return "usual" if kind in SIMULATED_KINDS and not simulated else kind

    def _is_short(self, seed: int) -> bool:
        return self._kind(seed) in SIMULATED_KINDS

    def _settings_of(self, seed: int) -> RunSettings:
        if self._kind(seed) == "systematic":
            return self._settings
        swarm = self._profile if self._kind(seed) == "swarm" else None
        return as_swarm(replace(self._settings, seed=seed), swarm or self._settings.swarm)

    def _note(self, seed: int, attempt: Attempt) -> None:
        exploration, outcome = self.exploration, attempt.outcome
        if attempt.death:
            exploration.findings.note_death(self._death(seed, attempt))
            return
        if outcome is None:
            error = Unperformed(seed=seed, why=attempt.error, exit_code=attempt.exit_code)
            exploration.errors.append(error)
            return
        exploration.runs += 1
        exploration.virtual_seconds += outcome.virtual_seconds
        exploration.cpu_seconds += outcome.cpu_seconds
        counted = [exploration.outcomes]
        if self._is_short(seed):
            exploration.short_runs += 1
            counted.append(exploration.short_outcomes)
        for counts in counted:
            counts[outcome.outcome] = counts.get(outcome.outcome, 0) + 1
        exploration.signatures |= outcome.signatures
        for seen in outcome.seen:
            if seen.promised:
                self._note_failure(seed, outcome, seen)

    def _note_failure(self, seed: int, outcome: TrialOutcome, seen: Seen) -> None:
        failure = Failure(
            seed=seed,
            fingerprint=seen.fingerprint,
            kinds=outcome.plan.kinds,
            traits=seen.traits,
        )
        self.exploration.findings.note(failure, lambda: self._made(failure, outcome, seen))

    def _made(self, failure: Failure, outcome: TrialOutcome, seen: Seen) -> Found:
        """The failure's case: shrunk, if that is wanted."""
        if not self._shrink:
            case = case_of(outcome, seen)
            return Found(case=case, failure=failure, operations=outcome.operations)
        self._notify(self.exploration)
        began = self._clock()
        shrinking = Shrinking(
            outcome, seen, self._executor, jobs=self._jobs, tries=self._shrink, clock=self._clock
        )
        case = shrinking.shrink()
        self._shrinking_s += self._clock() - began
        return Found(
            case=case,
            failure=failure,
            operations=shrinking.outcome.operations,
            shrunk=True,
            shrinking_runs=shrinking.runs,
            traits=shrinking.seen.traits,
        )

    def _death(self, seed: int, attempt: Attempt) -> Death:
        words = command_line(self._settings_of(seed))
        if self._is_short(seed):  # the plan is in no command line of a run
            words = [words[0], "explore", *words[2:], "--seeds", "1"]
        return Death(
            seed=seed,
            how=attempt.death,
            argv=tuple(words),
            clients=self._settings.clients,
            trace=tuple(attempt.trace.splitlines()),
        )
