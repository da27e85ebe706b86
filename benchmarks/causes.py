"""Whether ``rumpus cause`` names the fault that made a run fail.

Failures with a known cause are made from cases with one fault: the fault comes later, after two
other faults (a client is frozen for a moment, another one's connection is reset). Only runs count
that fail with all three faults and do not fail without the last one. So the cause is that fault,
and the moment at which it begins is known.

For each: where the failure became likely (the middle of the step), how far that is from the cause,
how many futures were performed, and the processor time.

``python -m benchmarks.causes [--quick]``
"""

import statistics
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from benchmarks.inline_executor import Inline
from rumpus.campaigns.case import Case, load_case
from rumpus.campaigns.futures import Futures
from rumpus.campaigns.tasks import attempt
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.targets import Targets

CASES = Path(__file__).resolve().parents[1] / "cases"
WANTED = 20
SEEDS = 8
MOMENTS = 8
FUTURES = 5
NEAR_S = 1.0

CAUSE_AT = 5.0
LOAD_AFTER_S = 2.0
OTHERS = (
    Entry(id=101, at=1.0, kind="client-pause", targets=Targets(role="one"), duration=0.3),
    Entry(
        id=102,
        at=2.5,
        kind="client-partition",
        targets=Targets(role="one"),
        duration=0.2,
        options={"how": "reset"},
    ),
)


def measure(scale: Scale) -> Table:
    table = Table("case", "cause", "began at", "became likely at", "apart", "futures", "processor")
    apart = []
    for name, case in _labelled(scale.rounds(WANTED)):
        futures = Futures(case, Inline(), futures=scale.rounds(FUTURES))
        step = futures.measure(2 if scale.quick else MOMENTS).step()
        knee = None if step is None else sum(step) / 2
        apart.append(None if knee is None else abs(knee - CAUSE_AT))
        table.add_row(
            name,
            case.plan.entries[-1].kind,
            f"{CAUSE_AT:.2f} s",
            "never" if knee is None else f"{knee:.2f} s",
            "" if knee is None else f"{apart[-1]:.2f} s",
            f"{futures.runs}",
            f"{futures.cpu_seconds:.1f} s",
        )
    near = [each for each in apart if each is not None and each <= NEAR_S]
    table.add_row(
        f"within {NEAR_S:g} s: {len(near)} of {len(apart)}",
        *([""] * 3),
        f"median {statistics.median(near):.2f} s" if near else "",
        "",
        "",
    )
    return table


def _labelled(wanted: int) -> Iterator[tuple[str, Case]]:
    """Failures whose cause is known: one of each family, then another of each, and so on."""
    families: dict[str, list[Path]] = {}
    for path in sorted(CASES.glob("mutants/*/*.case.json")):
        families.setdefault(path.parent.name, []).append(path)
    by_turns = chain.from_iterable(zip_longest(*families.values()))
    cases = ((path, load_case(path)) for path in by_turns if path is not None)
    labelled = (
        (f"{path.parent.name} {path.name.removesuffix('.case.json')}", made)
        for path, case in cases
        if len(case.plan.entries) == 1 and (made := _with_others(case)) is not None
    )
    return islice(labelled, wanted)


def _with_others(case: Case) -> Case | None:
    """The case with other faults before its own, if the run fails then, and only because of it."""
    (cause,) = case.plan.entries
    settings = case.task().settings
    later = msgspec.structs.replace(cause, id=103, at=CAUSE_AT)
    limit = round(max(settings.time_limit - cause.at, LOAD_AFTER_S) + CAUSE_AT, 3)
    for seed in range(case.seed, case.seed + SEEDS):
        made, without = (
            msgspec.structs.replace(
                case,
                seed=seed,
                settings={**case.settings, "time_limit": limit},
                plan=msgspec.structs.replace(case.plan, entries=entries),
            )
            for entries in ((*OTHERS, later), OTHERS)
        )
        if _fails(made) and _fails(without) is False:
            return made
    return None


def _fails(case: Case) -> bool | None:
    """Whether the case's run shows its failure; None if it cannot be performed."""
    outcome = attempt(case.task()).outcome
    if outcome is None:
        return None
    return outcome.find(case.expects, promised=case.promised) is not None


if __name__ == "__main__":
    run_alone(__doc__, measure)
