"""How small a big failure becomes in a few tries, and what that costs.

Failures are the first broken promise of usual runs of 20 s of load, with all usual kinds of fault
and five clients: of kazoo's own classes, and of one mutant of each of some families, drawn by hash.
Each is shrunk with the same number of tries. Faults, clients, operations and seconds of load are
those of the run that was found, then those of the case. *tries* are the runs that were tried, with
the failure as it was; *CPU* is the processor time that performing and judging them took.

``python -m benchmarks.shrinking [--quick]``
"""

from concurrent.futures import Executor, Future
from typing import Any, Final, NamedTuple

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.detection import targets
from rumpus.campaigns.shrinking import Shrinking
from rumpus.campaigns.tasks import attempt, perform_apart
from rumpus.campaigns.trial_task import Seen, TrialOutcome, TrialTask, perform
from rumpus.runs.run_settings import RunSettings

TRIES: Final = 60
LOAD_S: Final = 20.0
FIRST_SEED: Final = 100_000
SEEDS: Final = 12
"""So many runs are looked at for a failure."""

FAMILIES: Final = frozenset(
    {"lock", "semaphore", "read-write", "queue", "counter", "registry", "failover", "latch"}
)
KAZOO: Final = (
    ("lock", "kazoo.recipe.lock:Lock"),
    ("semaphore", "kazoo.recipe.lock:Semaphore"),
    ("partitioner", "kazoo"),
    ("queue", "kazoo.recipe.queue:LockingQueue"),
)


class Failure(NamedTuple):
    """A run that failed, and how."""

    outcome: TrialOutcome
    seen: Seen


class Here(Executor):
    """Performs each task at once, in this process.

    Attributes:
        cpu_seconds: processor time of the runs that could be performed.
    """

    def __init__(self) -> None:
        self.cpu_seconds = 0.0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        assert function is perform_apart, "only runs are passed to it"
        assert not named
        made = attempt(arguments[0])
        if made.outcome is not None:
            self.cpu_seconds += made.outcome.cpu_seconds
        future: Future[Any] = Future()
        future.set_result(made)
        return future


def subjects() -> list[tuple[str, str]]:
    """Workloads and recipes: kazoo's classes, then one mutant of each family."""
    drawn = [
        (each.workload, each.recipe)
        for each in targets()
        if not each.name.isdigit() and each.workload in FAMILIES
    ]
    return [*KAZOO, *drawn]


def first_failure(workload: str, recipe: str, *, load: float, seeds: int) -> Failure | None:
    """The first broken promise of usual runs; None if none of them breaks one."""
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        settings = RunSettings(
            argv=(), workload=workload, recipe=recipe, ensemble="sim", time_limit=load, seed=seed
        )
        outcome = perform(TrialTask(settings=settings))
        seen = next((each for each in outcome.seen if each.promised), None)
        if seen is not None:
            return Failure(outcome, seen)
    return None


def measure(scale: Scale) -> Table:
    table = Table("failure", "faults", "clients", "operations", "load", "tries", "CPU")
    chosen = subjects()
    for workload, recipe in chosen[:: len(chosen) // scale.rounds(len(chosen))]:
        found = first_failure(workload, recipe, load=LOAD_S, seeds=scale.rounds(SEEDS))
        if found is not None:
            table.add_row(*_row(f"{workload} {recipe}", found, scale.rounds(TRIES)))
    return table


def _row(name: str, found: Failure, tries: int) -> list[str]:
    here = Here()
    shrinking = Shrinking(*found, here, tries=tries)
    shrinking.shrink()
    before, after = found.outcome, shrinking.outcome
    pairs = [
        (len(before.plan.entries), len(after.plan.entries)),
        (before.settings.clients, after.settings.clients),
        (before.operations, after.operations),
    ]
    return [
        f"{name}: {found.seen.fingerprint.kind} (seed {before.seed})",
        *(f"{was} > {is_now}" for was, is_now in pairs),
        f"{before.settings.time_limit:g} > {after.settings.time_limit:g} s",
        str(shrinking.runs),
        f"{here.cpu_seconds:.0f} s",
    ]


if __name__ == "__main__":
    run_alone(__doc__, measure)
