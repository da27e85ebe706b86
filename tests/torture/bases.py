"""Runs to be damaged: of each family a valid one, one that shows a violation, and another."""

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


def _run(place: Path, family: Workload, recipes: list[str], code: int) -> Path:
    """A run of one of the recipes that ends so."""
    for limit, seed, recipe in product(LIMITS_S, SEEDS, recipes):
        runs = place / family.name / f"{recipe}-{seed}-{limit}"
        words = (
            f"run {family.name} --recipe {recipe} --ensemble sim --seed {seed} "
            f"--time-limit {limit} --nemesis {FAULTS} --runs {runs}"
        )
        ended = run_one(Call(tuple(words.split()), runs))
        if ended.code == code:
            return (runs / "latest").resolve()
    raise LookupError(f"no seed of {family.name} ends with exit code {code}")
