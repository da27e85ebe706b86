"""Runs to be damaged: of each family a valid one, one that shows a violation, and another."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from rumpus.workloads.framework.workload import Workload
from rumpus.workloads.registry import WORKLOADS
from tests.torture.commands import Call, run_one, warm

FAULTS = "client-kill,client-pause"
SEEDS = range(1, 9)
LIMITS_S = (8, 40)
"""Seconds of load: in the shorter one too little happens of some families."""
LOSSES = (
    (
        "append --server-mutant discontinuous-committed-log --nodes 5 --clients 4 --time-limit 55 "
        "--usage think=0.5 --plan docs/plans/staggered-kills.json"
    ),
    (
        "append --server-mutant uncommitted-from-log --nodes 5 --clients 6 --time-limit 38 "
        "--plan docs/plans/kept-by-snapshot.json"
    ),
    "register --server-mutant skipped-writes --time-limit 20",
    "watch --server-mutant lost-events --time-limit 20",
    "ephemeral --server-mutant revived-sessions --time-limit 40",
)
"""Runs in which the servers break their promises."""


@dataclass(frozen=True)
class Base:
    """A run whose verdict is known, and another of the same family."""

    family: str
    outcome: str
    path: Path
    other: Path


def bases(place: Path, families: list[str]) -> list[Base]:
    """Make them, in the simulation.

    Raises:
        LookupError: no seed gives such a run.
    """
    found = []
    for name in families:
        family = WORKLOADS[name]
        sound = [name for name, recipe in family.catalogue.items() if not recipe.faulty][:1]
        faulty = [name for name, recipe in family.catalogue.items() if recipe.faulty]
        valid = _run(place, family, sound, 0)
        broken = _run(place, family, faulty, 1)
        found += [
            Base(name, "valid", valid, other=broken),
            Base(name, "violation", broken, other=valid),
        ]
        warm("check", str(broken), "--json")
    return found


def losses(place: Path) -> list[Base]:
    """Make those in which the servers are at fault, each with a sound run of the same options.

    Raises:
        LookupError: no seed gives such a run.
    """
    found = []
    for number, words in enumerate(LOSSES):
        family, *options = words.split()
        at = options.index("--server-mutant")
        kept = [*options[:at], *options[at + 2 :]]
        path = _ended(place / f"{number}-lost", [family, *options], SEEDS, 1)
        other = _ended(place / f"{number}-kept", [family, *kept], SEEDS, 0)
        found.append(Base(family, "violation", path, other))
        warm("check", str(path), "--json")
    return found


def _ended(place: Path, words: Iterable[str], seeds: Iterable[int], code: int) -> Path:
    """The first simulated run of these that ends so."""
    for seed in seeds:
        call = ("run", *words, "--ensemble", "sim", "--seed", str(seed), "--runs")
        runs = place / str(seed)
        if run_one(Call((*call, str(runs)), runs)).code == code:
            return (runs / "latest").resolve()
    raise LookupError(f"no seed of {' '.join(words)} ends with exit code {code}")


def _run(place: Path, family: Workload, recipes: list[str], code: int) -> Path:
    """A run of one of the recipes that ends so."""
    for limit, seed, recipe in product(LIMITS_S, SEEDS, recipes):
        words = f"{family.name} --recipe {recipe} --time-limit {limit} --nemesis {FAULTS}"
        with suppress(LookupError):
            runs = place / family.name / f"{recipe}-{limit}"
            return _ended(runs, words.split(), [seed], code)
    raise LookupError(f"no seed of {family.name} ends with exit code {code}")
