"""Run directories, damaged at random or forged, under ``rumpus check``."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rumpus.results.run_directory import RunDirectory
from tests.torture.accidents import ACCIDENTS
from tests.torture.bases import Base
from tests.torture.commands import Call, Ended, run_all
from tests.torture.forgeries import FORGERIES, forge
from tests.torture.table import Row

OUTCOMES = {0: "valid", 1: "violation", 2: "refused", 3: "unknown"}


@dataclass(frozen=True)
class _Damaged(Call):
    base: Base
    what: str
    forged: bool
    changed: bool


def accidents(bases: list[Base], count: int, place: Path, seed: int = 0) -> Row:
    """Damage runs whose seals stay as they were, and check them."""
    return _check(f"{count:,} damaged run directories", _accidents(bases, count, place, seed))


def forgeries(bases: list[Base], place: Path) -> Row:
    """Forge runs in every way, and check them."""
    count = len(bases) * len(FORGERIES)
    return _check(f"{count:,} forged run directories", _forgeries(bases, place))


def _accidents(bases: list[Base], count: int, place: Path, seed: int) -> Iterator[_Damaged]:
    names = list(ACCIDENTS)
    for number in range(count):
        chance = Random(f"{seed} {number}")
        base = bases[number % len(bases)]
        name = names[number] if number < len(names) else chance.choice(names)
        run = _copy(base, place, number)
        ACCIDENTS[name](run, base.other, chance)
        yield _damaged(base, f"{name} ({seed}/{number})", run, forged=False, changed=True)


def _forgeries(bases: list[Base], place: Path) -> Iterator[_Damaged]:
    for number, (base, name) in enumerate((base, name) for base in bases for name in FORGERIES):
        run = _copy(base, place, number)
        changed = forge(name, RunDirectory(run), RunDirectory(base.other))
        yield _damaged(base, name, run, forged=True, changed=changed)


def _copy(base: Base, place: Path, number: int) -> Path:
    run = place / str(number) / "run"
    shutil.copytree(base.path, run)
    return run


def _damaged(base: Base, what: str, run: Path, *, forged: bool, changed: bool) -> _Damaged:
    return _Damaged(("check", str(run), "--json"), run.parent, base, what, forged, changed)


def _check(title: str, damaged: Iterator[_Damaged]) -> Row:
    row = Row(title)

    def heard(call: Call, ended: Ended) -> None:
        assert isinstance(call, _Damaged)
        found = OUTCOMES.get(ended.code, str(ended.code))
        row.count("same verdict" if found == call.base.outcome else found)
        row.measure(ended)
        if (wrong := _wrong(call, ended, found)) is not None:
            row.defect(f"{call.base.family} ({call.base.outcome}), {call.what}: {wrong}")
        else:
            shutil.rmtree(call.place)

    run_all(damaged, heard)
    return row


def _wrong(call: _Damaged, ended: Ended, found: str) -> str | None:
    if ended.trouble:
        return ended.trouble
    try:
        json.loads(ended.out)
    except ValueError:
        return f"no JSON document: {ended.out[:100]!r}"
    if found == "violation" != call.base.outcome:
        return "a violation that was none"
    if found == "valid" and (call.base.outcome != "valid" or (call.forged and call.changed)):
        return "valid"
    return None
