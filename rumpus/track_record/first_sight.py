"""How long an exploration takes to see a flaw for the first time.

An exploration that knows nothing of the flaw (``rumpus explore`` with its usual faults) is
performed some times with other seeds each, up to the first violation of one of the flaw's kinds by
the same recipe. The time is the processor's, so it says the same on a busy machine.

The kinds alone do not tell two flaws of one recipe apart that show by the same anomaly: then it is
the first sight of either.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from rumpus.campaigns.case import Case
from rumpus.campaigns.exploring import Exploration, Explorer
from rumpus.campaigns.tasks import Performers
from rumpus.runs.run_settings import RunSettings
from rumpus.track_record.record_file import Sight

TRIES: Final = 5
"""How many explorations: the record has their median."""

APART: Final = 1_000_000
"""Seeds from the first of one exploration to the first of the next."""

BUDGET_S: Final = 120.0
"""Seconds of processor time after which an exploration gives up."""

LOAD_S: Final = 15.0
"""Seconds of load of each run, as ``rumpus explore`` has them."""


def kinds_of(case: Case) -> frozenset[str]:
    """The anomalies by which a case's flaw shows."""
    also = case.finding.also if case.finding is not None else ()
    return frozenset({case.expects.kind, *also})


def first_sights(
    case: Case,
    settings: RunSettings,
    performers: Performers,
    *,
    tries: int = TRIES,
    budget: float = BUDGET_S,
    notify: Callable[[Exploration], None] = lambda _: None,
) -> tuple[Sight, ...]:
    """Explore a case's recipe until the flaw is seen, so many times.

    Args:
        case: of the flaw.
        settings: of the case's workload and recipe; the rest as explorations have it.
        performers: perform the runs.
        tries: how many times.
        budget: seconds of processor time that each may take.
        notify: called after each seed.

    Raises:
        UsageError, EnvironmentRefusal, WorkerCrash, RuntimeError: no run could be performed.
    """
    kinds = kinds_of(case)

    def seen(explored: Exploration) -> bool:
        return any(each.fingerprint.kind in kinds for each in explored.findings.failures)

    sights = []
    for number in range(tries):
        explorer = Explorer(
            replace(settings, seed=number * APART),
            performers.executor,
            jobs=performers.threads,
            profile="normal",
            shrink=0,
            notify=notify,
        )
        explored = explorer.explore(until=lambda so_far: seen(so_far) or _over(so_far, budget))
        explored.raise_refusal()
        sights.append(
            Sight(
                runs=explored.runs,
                cpu_seconds=round(explored.cpu_seconds, 1),
                seen=seen(explored),
            )
        )
    return tuple(sights)


def _over(explored: Exploration, budget: float) -> bool:
    return explored.cpu_seconds >= budget
