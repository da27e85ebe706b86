"""Looks for a failure of a run on real servers again, in simulated runs around it.

The simulation has other delays than real servers and networks, so a fault at the same time strikes
at another moment of what clients do. Mostly one of the last faults before the anomaly made the run
fail, or two. So these are tried in short runs, with times and lengths around the actual ones; now
and then the whole run is.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import count, islice, pairwise
from random import Random
from typing import Final

import msgspec

from rumpus.campaigns.lifting import LiftedRun
from rumpus.campaigns.shrinking import FIRST_S, LEAST_CLIENTS, SPARE_S, STEP_S
from rumpus.campaigns.tasks import Attempt, attempts
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask
from rumpus.harness.run_limits import RUN_S
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import conflict

NEAREST: Final = 4
"""How many of the last faults before the anomaly are tried alone, and in pairs of neighbours."""

WHOLE_EACH: Final = 3
"""After so many rounds of short runs the whole run is tried once more."""

MOST_STRETCHED: Final = 2.0
"""By which factor a fault is longer or shorter at most."""

MOST_SHIFTED_S: Final = 1.0
"""By how many seconds the second fault of a pair begins earlier or later at most."""

APART_S: Final = 0.01
"""Seconds between the beginnings of the two faults of a pair, at least."""


@dataclass
class Reproduction:
    """What came of looking for a failure again.

    Attributes:
        runs: how many runs were tried.
        found: the first run that showed the failure, and the failure in it.
        of_the_kind: fingerprints of anomalies of the same kind that other operations showed ->
            number of runs. A flaw may show so elsewhere, and so may another flaw.
        others: fingerprints of other broken promises -> number of runs.
        errors: runs that could not be performed -> number of runs.
        error_codes: the exit codes of these.
    """

    runs: int = 0
    found: tuple[TrialOutcome, Seen] | None = None
    of_the_kind: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    error_codes: set[int] = field(default_factory=set)


def reproduce(
    lifted: LiftedRun,
    executor: Executor,
    *,
    jobs: int = 1,
    tries: int,
    budget: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    notify: Callable[[Reproduction], None] = lambda _: None,
) -> Reproduction:
    """Try runs until one shows the failure: the same kind of anomaly, of the same operations.

    Args:
        lifted: the run that has failed.
        executor: performs runs.
        jobs: how many at once.
        tries: how many to try at most. Without a budget, the same runs are tried whatever ``jobs``.
        budget: seconds after which no further run begins.
        clock: seconds, monotonic.
        notify: called after each few runs.

    Raises:
        UsageError, EnvironmentRefusal: the first run cannot be performed.
    """
    made = Reproduction()
    end = clock() + budget
    untried = islice(runs_around(lifted), tries)
    while made.found is None and clock() < end and (batch := list(islice(untried, jobs))):
        for attempt in attempts(executor, batch, RUN_S if math.isinf(budget) else budget):
            if not made.runs:
                attempt.raise_error()
            made.runs += 1
            _note(made, lifted.seen, attempt)
            if made.found is not None:
                break
        notify(made)
    return made


def _note(made: Reproduction, wanted: Seen, attempt: Attempt) -> None:
    outcome = attempt.outcome
    if outcome is None:
        made.errors[attempt.error] += 1
        made.error_codes.add(attempt.exit_code)
        return
    for seen in outcome.seen:
        if seen.promised != wanted.promised:
            continue
        if seen.fingerprint.resembles(wanted.fingerprint):
            made.found = (outcome, seen)
            return
        same = seen.fingerprint.kind == wanted.fingerprint.kind
        (made.of_the_kind if same else made.others)[str(seen.fingerprint)] += 1


def runs_around(lifted: LiftedRun) -> Iterator[TrialTask]:
    """Runs that resemble a run that has failed, without end, the most promising ones first."""
    plan = lifted.plan
    yield TrialTask(settings=lifted.settings, plan=plan)
    foci = _foci(plan.entries, lifted.moment)
    for number in count():
        random = Random(f"{lifted.settings.seed}:reproduce:{number}")
        for focus in foci:
            yield _short_run(lifted, focus, number, random)
        if number % WHOLE_EACH == 0:
            settings = replace(lifted.settings, seed=number)
            yield TrialTask(settings=settings, plan=plan)


def _foci(entries: Sequence[Entry], moment: float) -> Sequence[tuple[Entry, ...]]:
    """Which faults to try together: the last ones before the anomaly, alone and in pairs.

    One that takes the targets of another is not tried without that.
    """
    nearest = [entry for entry in entries if entry.at <= moment][-NEAREST:]
    alone = [(entry,) for entry in reversed(nearest)]
    foci = [*alone, *reversed(list(pairwise(nearest)))]
    whole = [
        focus
        for focus in foci
        if {entry.targets.of for entry in focus} <= {None, *(entry.id for entry in focus)}
    ]
    return whole or [()]


def _short_run(lifted: LiftedRun, focus: Sequence[Entry], number: int, random: Random) -> TrialTask:
    """A short run with some faults: in the first round as they were, later around that."""
    settings = lifted.settings
    first = FIRST_S if number == 0 else FIRST_S + random.random()
    entries: list[Entry] = []
    for entry in focus:
        at, duration = entry.at - focus[0].at + first, entry.duration
        if number:
            stretch = math.log(MOST_STRETCHED)
            duration *= math.exp(random.uniform(-stretch, stretch))
            if entries:
                at += random.uniform(-MOST_SHIFTED_S, MOST_SHIFTED_S)
                at = max(at, entries[-1].at + APART_S)  # it may take that one's targets
        moved = msgspec.structs.replace(entry, at=round(at, 3), duration=round(duration, 3))
        if entries and moved.at < entries[-1].end and conflict(entries[-1], moved):
            moved = msgspec.structs.replace(moved, at=round(entries[-1].end + STEP_S, 3))
        entries.append(moved)
    end = max((entry.end for entry in entries), default=FIRST_S)
    clients = settings.clients
    if number and not any(entry.targets.names for entry in entries):
        clients = random.choice((clients, min(clients, 3), min(clients, LEAST_CLIENTS)))
    short = replace(
        settings,
        seed=settings.seed if number == 0 else number,
        clients=clients,
        time_limit=round(end + SPARE_S, 3),
    )
    plan = msgspec.structs.replace(lifted.plan, entries=tuple(entries))
    return TrialTask(settings=short, plan=plan)
