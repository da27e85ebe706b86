"""How much processor time passes until a known failure is seen, by each kind of run.

- *seeds*: one run for each seed, of 15 virtual seconds with random faults, every other one a swarm
  run.
- *short*: the short runs of ``rumpus explore``, 16 of each seed, forked from one beginning.
- *corners*: what ``rumpus explore --systematic all`` does, with six operations of each client: one
  small run after the other, each with a fault at every frame. The first two have a fixed usage, the
  others a drawn one.

All stop at the first run that shows the anomaly. Times are of the processor, medians of some first
seeds; ``>`` means that it was not seen in that time by most of them.

``python -m benchmarks.detection [--quick]``
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import msgspec
from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.inline_executor import Inline
from rumpus.campaigns import short_runs
from rumpus.campaigns.corners import Corners, small_settings
from rumpus.campaigns.short_runs import ShortRunsTask
from rumpus.campaigns.trial_task import TrialOutcome, TrialTask, perform
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.usage import draw_usage, usage_words
from rumpus.nemesis.client_frame import FRAME_MODES
from rumpus.runs.run_settings import RunSettings

LIMIT_S = 60.0
FIRST_SEEDS = (0, 1000, 2000)
LOAD_S = 15.0
OPERATIONS = 6
USAGES = ("think=0.5", "think=0.3,tries=0.6,patience=0.3")
THINK_S = 0.3


@dataclass(frozen=True)
class Target:
    """A failure: of a finding (``#`` in docs/track-record/findings.md) or of a mutant."""

    name: str
    workload: str
    recipe: str
    anomaly: str


TARGETS = (
    Target("#1", "barrier", "kazoo", "stuck-waiter"),
    Target("#2", "double-barrier", "kazoo", "stuck-waiter"),
    Target("#3", "double-barrier", "kazoo", "early-exit"),
    Target("#4", "counter", "kazoo", "miscount"),
    Target("#5", "queue", "kazoo-locking", "stuck-waiter"),
    Target("#6", "queue", "kazoo-locking", "orphan-node"),
    Target("#7", "queue", "kazoo-locking", "duplicate-element"),
    Target("#8", "queue", "kazoo", "lost-element"),
    Target("#10", "lock", "kazoo-bare", "orphan-node"),
    Target("#11", "semaphore", "kazoo", "deadlock"),
    Target("#13", "registry", "kazoo-party", "missing-entry"),
    Target("#14", "partitioner", "kazoo", "unowned-partition"),
    Target("reads-sorted", "failover", "reads-sorted", "out-of-order"),
    Target("never-truncates", "failover", "never-truncates", "not-linearizable"),
)


def measure(scale: Scale) -> Table:
    limit = scale.seconds(LIMIT_S)
    firsts = FIRST_SEEDS[: scale.rounds(len(FIRST_SEEDS))]
    table = Table("target", "anomaly", "seeds", "runs", "short", "runs", "ratio", "corners", "runs")
    for target in TARGETS[: scale.rounds(len(TARGETS))]:
        seeds, short, corners = (
            _median([_until(target, way(target, first), limit) for first in firsts])
            for way in (_seeds, _short, _corners)
        )
        table.add_row(
            f"{target.name} {target.workload}",
            target.anomaly,
            str(seeds),
            f"{seeds.runs:g}",
            str(short),
            f"{short.runs:g}",
            f"{seeds.seconds / short.seconds:.1f}",
            str(corners),
            f"{corners.runs:g}",
        )
    return table


class Median(NamedTuple):
    """Medians of some searches, and whether most of them found what they looked for."""

    seconds: float
    runs: float
    found: bool

    def __str__(self) -> str:
        return f"{'' if self.found else '> '}{self.seconds:.1f} s"


def _median(searches: Sequence[tuple[float, int, bool]]) -> Median:
    return Median(
        statistics.median(seconds for seconds, _, _ in searches),
        statistics.median(runs for _, runs, _ in searches),
        2 * sum(found for _, _, found in searches) > len(searches),
    )


def _until(
    target: Target, outcomes: Iterator[TrialOutcome], limit: float
) -> tuple[float, int, bool]:
    """Processor seconds and runs until the anomaly was seen, and whether it was."""
    spent, runs = 0.0, 0
    for outcome in outcomes:
        spent += outcome.cpu_seconds
        runs += 1
        if any(each.promised and each.fingerprint.kind == target.anomaly for each in outcome.seen):
            return spent, runs, True
        if spent > limit:
            break
    return spent, runs, False


def _seeds(target: Target, first: int) -> Iterator[TrialOutcome]:
    for seed in count(first):
        settings = _settings(target, seed)
        swarm = replace(settings, swarm="normal" if seed % 2 else None)
        yield perform(TrialTask(settings=swarm))


def _short(target: Target, first: int) -> Iterator[TrialOutcome]:
    for seed in count(first):
        task = ShortRunsTask(settings=_settings(target, seed), profile="normal")
        for run in short_runs.perform(task):
            if run.attempt.outcome is None:
                run.attempt.raise_error()
            else:
                yield run.attempt.outcome


def _settings(target: Target, seed: int) -> RunSettings:
    return RunSettings(
        argv=(),
        workload=target.workload,
        recipe=target.recipe,
        ensemble="sim",
        time_limit=LOAD_S,
        seed=seed,
        fixed=("time_limit",),
    )


def _corners(target: Target, first: int) -> Iterator[TrialOutcome]:
    for number in count():
        seed = first + number
        usage = USAGES[number] if number < len(USAGES) else _drawn(seed)
        settings = RunSettings(
            argv=(),
            workload=target.workload,
            recipe=target.recipe,
            usage=usage,
            seed=seed,
            fixed=("usage", "seed"),
        )
        corners = Corners(
            small_settings(settings), tuple(FRAME_MODES), Inline(), operations=OPERATIONS
        )
        for corner in corners.walk():
            if corner.branch.outcome is None:
                corner.branch.attempt.raise_error()
            else:
                yield corner.branch.outcome


def _drawn(seed: int) -> str:
    """A drawn usage with rests, so that the run stays small."""
    usage = draw_usage(Seed(seed), session_timeout=1.0)
    return usage_words(msgspec.structs.replace(usage, think=max(usage.think, THINK_S), burst=0))


if __name__ == "__main__":
    run_alone(__doc__, measure)
