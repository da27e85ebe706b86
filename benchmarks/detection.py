"""How much processor time passes until a known failure is seen, by each kind of run.

Kinds are those that take turns in ``rumpus explore`` (``rumpus.campaigns.pieces``). Targets are the
failures of all findings, and of one mutant of each family, drawn by hash. The search ends at the
first run that shows the anomaly; ``>`` means that it was not seen in that time. The last rows say
how long an exploration takes for all of them if each kind has some share of the time: it sees a
failure when the first of its kinds does. One that none of them sees counts as four times the limit.

``python -m benchmarks.detection [--quick] [--targets N] [--seeds N] [--limit S]``; all of it takes
half a day.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.command_line import Scale, add_quick_option
from rumpus.campaigns import short_runs
from rumpus.campaigns.case import load_case
from rumpus.campaigns.corners import CornersTask, perform_corners
from rumpus.campaigns.pieces import RUN_KINDS, RunKind, task_of
from rumpus.campaigns.short_runs import ShortRunsTask
from rumpus.campaigns.tasks import Attempt
from rumpus.campaigns.trial_task import perform
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.runs.run_settings import RunSettings
from rumpus.workloads.registry import WORKLOADS

FINDINGS: Final = Path(__file__).resolve().parents[1] / "cases" / "findings"
LIMIT_S: Final = 60.0
FIRST_SEEDS: Final = (0, 1000, 2000)
LOAD_S: Final = 15.0
SYSTEMATIC: Final = (0.0, 0.2, 0.25, 1 / 3, 1 / 2)
"""Shares of systematic runs; the other kinds have equal parts of the rest."""

SHARES: Final[tuple[Mapping[RunKind, float], ...]] = tuple(
    {kind: share if kind == "systematic" else (1 - share) / 3 for kind in RUN_KINDS}
    for share in SYSTEMATIC
)


@dataclass(frozen=True)
class Target:
    """A failure that is known: of a finding, or of a mutant."""

    name: str
    workload: str
    recipe: str
    anomalies: frozenset[str]


class Search(NamedTuple):
    """Processor seconds until a failure was seen, and whether it was."""

    seconds: float
    found: bool

    def __str__(self) -> str:
        return f"{'' if self.found else '> '}{self.seconds:.1f} s"


def targets() -> Iterator[Target]:
    """The failures, those of findings first."""
    for path in sorted(FINDINGS.glob("*.case.json")):
        case = load_case(path)
        settings = case.task().settings
        kinds = frozenset({case.expects.kind})
        yield Target(path.name[:2], settings.workload, settings.recipe or "", kinds)
    for family, workload in WORKLOADS.items():
        mutants = {
            name: entry.expected
            for name, entry in workload.catalogue.items()
            if isinstance(entry, CatalogueEntry) and entry.faulty
        }
        if mutants:
            drawn = min(mutants, key=lambda name: sha256(f"{family} {name}".encode()).digest())
            yield Target(drawn, family, drawn, frozenset(mutants[drawn]))


def drawn(known: Sequence[Target], number: int) -> list[Target]:
    """So many of them, drawn by hash, in the order in which they are drawn."""
    return sorted(known, key=lambda each: sha256(f"{each.workload} {each.name}".encode()).digest())[
        :number
    ]


def measure(scale: Scale) -> Table:
    limit = scale.seconds(LIMIT_S)
    firsts = FIRST_SEEDS[: scale.rounds(len(FIRST_SEEDS))]
    known = list(targets())
    return measured(drawn(known, scale.rounds(len(known))), firsts, limit)


def measured(
    chosen: Sequence[Target],
    firsts: Sequence[int],
    limit: float,
    notify: Callable[[str], None] = lambda _: None,
) -> Table:
    """Search for each of the targets by each kind of run.

    Args:
        chosen: the targets.
        firsts: the first seeds; of their searches the median counts.
        limit: processor seconds after which a search is given up.
        notify: called with each line as soon as it is known: all take long.
    """
    table = Table("target", "anomaly", *RUN_KINDS)
    sums = [0.0] * len(SHARES)
    for target in chosen:
        medians = {
            kind: _median([_until(target, kind, first, limit) for first in firsts])
            for kind in RUN_KINDS
        }
        row = [
            f"{target.workload} {target.name}",
            min(target.anomalies),
            *map(str, medians.values()),
        ]
        table.add_row(*row)
        notify("  ".join(row))
        for number, shares in enumerate(SHARES):
            sums[number] += _mixed(medians, shares, limit)
    for shares, total in zip(SHARES, sums, strict=True):
        told = [f"{shares[kind]:.0%}" for kind in RUN_KINDS]
        table.add_row("all of them", f"{total:.0f} s", *told)
    return table


def _mixed(
    medians: Mapping[RunKind, Search], shares: Mapping[RunKind, float], most: float
) -> float:
    """When the first of the kinds sees a failure, each in its share of the time."""
    seen = (
        medians[kind].seconds / share
        for kind, share in shares.items()
        if share and medians[kind].found
    )
    return min(4 * most, min(seen, default=math.inf))


def _median(searches: list[Search]) -> Search:
    found = 2 * sum(each.found for each in searches) > len(searches)
    return Search(statistics.median(each.seconds for each in searches), found)


def _until(target: Target, kind: RunKind, first: int, limit: float) -> Search:
    spent = 0.0
    for attempt in _runs(target, kind, first):
        if attempt.outcome is None:
            attempt.raise_error()
            continue
        spent += attempt.outcome.cpu_seconds
        seen = {each.fingerprint.kind for each in attempt.outcome.seen if each.promised}
        if seen & target.anomalies:
            return Search(spent, found=True)
        if spent > limit:
            break
    return Search(spent, found=False)


def _runs(target: Target, kind: RunKind, first: int) -> Iterator[Attempt]:
    settings = RunSettings(
        argv=(), workload=target.workload, recipe=target.recipe, ensemble="sim", time_limit=LOAD_S
    )
    for number in count():
        seeded = replace(settings, seed=first + number)
        task = task_of(kind, seeded, "normal", number=number)
        if isinstance(task, ShortRunsTask):
            yield from (each.attempt for each in short_runs.perform(task))
        elif isinstance(task, CornersTask):
            yield from (each.attempt for each in perform_corners(task))
        else:
            yield Attempt(outcome=perform(task))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_quick_option(parser)
    words = "so many targets, drawn by hash (default: all)"
    parser.add_argument("--targets", type=int, metavar="N", help=words)
    words = f"the first so many first seeds (default: {len(FIRST_SEEDS)})"
    parser.add_argument("--seeds", type=int, metavar="N", default=len(FIRST_SEEDS), help=words)
    words = f"processor seconds of a search (default: {LIMIT_S:g})"
    parser.add_argument("--limit", type=float, metavar="S", default=LIMIT_S, help=words)
    options = parser.parse_args()
    console = Console()
    if options.quick:
        console.print(measure(Scale(quick=True)))
        return
    known = list(targets())
    chosen = drawn(known, options.targets or len(known))
    firsts = FIRST_SEEDS[: options.seeds]
    told = partial(console.print, markup=False, soft_wrap=True)
    console.print(measured(chosen, firsts, options.limit, told))


if __name__ == "__main__":
    main()
