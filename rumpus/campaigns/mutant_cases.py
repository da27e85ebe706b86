"""Cases of mutants: for each recipe or server with a known mistake, a small run that shows it.

A case that still shows its mistake stays as it is. So it costs little to make all cases again after
the simulation has changed.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final, Literal

import msgspec

from rumpus.campaigns.case import IN_DIRECTORY, Case, load_case, save_case
from rumpus.campaigns.mutant_hunt import Mutant
from rumpus.campaigns.replaying import ENDING, judge_replay
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import GRACE_S, Attempt, attempts
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.exit_codes import USAGE, VALID
from rumpus.nemesis.registry import FAULTS, SOUND
from rumpus.results.escapes import in_file_name
from rumpus.runs.recorded_settings import settings_of_words
from rumpus.runs.run_settings import RunSettings
from rumpus.trust import places_of, refuse_untrusted

SMALL_LOAD_S: Final = 7.0
"""Length of the load of a small run: enough for one fault that ends a session."""

SMALL_CROWD: Final = 3
"""Number of clients of a small run."""

SWARM_LOAD_S: Final = 20.0

OTHER_SEEDS: Final = 10
"""With how many seeds an old case's plan is tried, where its own seed does not do any more."""


@dataclass(frozen=True, kw_only=True)
class MutantCase:
    """What came of making a mutant's case.

    Attributes:
        mutant: the mutant.
        outcome: ``kept``: the case that was there still shows the mistake. ``made``: a new one was
            made. ``missed``: no run showed the mistake. ``failed``: no run could be performed.
        case: the case; None if it was missed or failed.
        path: of the case's file.
        runs: how many runs were performed.
        seconds: the time taken, by the clock.
        words: why no run could be performed.
        exit_code: the gravest exit code of a run that could not be performed; 0 if there is none.
    """

    mutant: Mutant
    outcome: Literal["kept", "made", "missed", "failed"]
    case: Case | None
    path: Path
    runs: int
    seconds: float
    words: str = ""
    exit_code: int = 0


def case_path(directory: Path, mutant: Mutant) -> Path:
    """Where a mutant's case is kept: a folder for each family, and in it a file for each mutant."""
    return directory / in_file_name(mutant.family) / f"{in_file_name(mutant.name)}{ENDING}"


def make_case(
    mutant: Mutant,
    path: Path,
    executor: Executor,
    *,
    budget: float,
    shrink_budget: float,
    first_seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> MutantCase:
    """Make a mutant's case, unless the one that is there still shows the mistake.

    The run that shows the mistake is shrunk. The mistake may show as any of the mutant's expected
    anomalies.

    Args:
        mutant: the mutant.
        path: of the case's file.
        executor: performs runs, one at a time.
        budget: seconds after which no further run begins; the first run always does.
        shrink_budget: seconds to shrink the run that was found.
        first_seed: the first seed; the others count up from it.
        clock: seconds, monotonic.

    Raises:
        UsageError: the file is there and is no case, or names code that is not trusted.
        StoreError: the file cannot be written.
    """
    usual = settings_of_words(mutant.words(first_seed, "default"))
    search = _Search(mutant, executor, clock, budget + GRACE_S)
    old = load_case(path) if path.exists() else None
    # A file of this name may have the case of another mutant.
    if old is not None and _subject(old.task().settings) == _subject(usual):
        refuse_untrusted(path, old.task().settings, named=places_of([usual]))
        attempt = search.attempt(old.task())
        if (
            attempt.outcome is not None
            and old.expects.kind in mutant.expected
            and judge_replay(mutant.name, old, attempt.outcome).reproduced is True
        ):
            return search.told("kept", old, path)
        for seed in range(OTHER_SEEDS):
            search.perform(old.task(seed=seed))
    for task in tries(usual, first_seed):
        search.perform(task)
        if search.found is not None or search.failed or search.seconds >= budget:
            break
    if search.found is None:
        failed = search.failed or not search.performed
        return search.told("failed" if failed else "missed", None, path)
    shrinking = Shrinking(*search.found, executor, budget=shrink_budget, clock=clock)
    case = msgspec.structs.replace(shrinking.shrink(), mutant=True)
    search.runs += shrinking.runs
    save_case(case, path, IN_DIRECTORY)
    return search.told("made", case, path)


def tries(settings: RunSettings, first_seed: int) -> Iterator[TrialTask]:
    """Runs in which a mistake may show, smallest first, without an end.

    For each seed: short runs with few clients, without a fault and with one kind of fault each;
    then runs as they are by default, with all faults, and with a swarm's.
    """
    small = replace(
        settings,
        clients=min(SMALL_CROWD, settings.clients),
        time_limit=min(SMALL_LOAD_S, settings.time_limit),
    )
    # The usual kinds first: most mistakes show under them.
    kinds = sorted(SOUND, key=lambda kind: not FAULTS[kind].usual)
    for seed in count(first_seed):
        for chosen in ((), *((kind,) for kind in kinds)):
            yield TrialTask(settings=replace(small, seed=seed, nemesis=chosen))
        whole = replace(settings, seed=seed)
        yield TrialTask(settings=whole)
        yield TrialTask(settings=replace(whole, nemesis=SOUND))
        yield TrialTask(settings=replace(whole, swarm="normal", time_limit=SWARM_LOAD_S))


def _subject(settings: RunSettings) -> tuple[str, str | None, str | None]:
    """What a run is of."""
    return settings.workload, settings.recipe, settings.server_mutant


class _Search:
    """The search for a run that shows a mutant's mistake.

    Attributes:
        runs: how many runs were begun.
        performed: how many of them came to their end.
        failed: whether one failed for another reason than that its settings do not fit the family.
        found: the first run that shows the mistake, and the anomaly.

    Args:
        mutant: the mutant.
        executor: performs runs.
        clock: seconds, monotonic.
        longest: how many seconds a run may take.
    """

    def __init__(
        self, mutant: Mutant, executor: Executor, clock: Callable[[], float], longest: float
    ) -> None:
        self.runs = 0
        self.performed = 0
        self.failed = False
        self.found: tuple[TrialOutcome, Seen] | None = None
        self._mutant, self._executor = mutant, executor
        self._clock, self._began = clock, clock()
        self._longest = longest
        self._words = ""
        self._exit_code = VALID

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return self._clock() - self._began

    def perform(self, task: TrialTask) -> None:
        """Perform a run, unless one was found before."""
        if self.found is None:
            attempt = self.attempt(task)
            if attempt.outcome is not None:
                self.found = self._shown(attempt.outcome)

    def attempt(self, task: TrialTask) -> Attempt:
        """Perform a run, and count it."""
        (attempt,) = attempts(self._executor, [task], self._longest)
        self.runs += 1
        self.performed += attempt.outcome is not None
        self.failed = self.failed or attempt.exit_code not in (VALID, USAGE)
        self._words = attempt.error or self._words
        self._exit_code = max(self._exit_code, attempt.exit_code)
        return attempt

    def told(
        self,
        outcome: Literal["kept", "made", "missed", "failed"],
        case: Case | None,
        path: Path,
    ) -> MutantCase:
        """What came of it."""
        return MutantCase(
            mutant=self._mutant,
            outcome=outcome,
            case=case,
            path=path,
            runs=self.runs,
            seconds=self.seconds,
            words="" if case else self._words,
            exit_code=self._exit_code,
        )

    def _shown(self, outcome: TrialOutcome) -> tuple[TrialOutcome, Seen] | None:
        """The run and the anomaly, if it is an expected one that breaks a promise of the mutant."""
        if outcome.outcome != "violation" or outcome.blamed != self._mutant.blamed:
            return None  # a promise that somebody else broke proves nothing
        for seen in outcome.seen:
            if seen.promised and seen.fingerprint.kind in self._mutant.expected:
                return outcome, seen
        return None
