"""Run directories, damaged at random or forged, under ``rumpus check``."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from random import Random

from rumpus.results.run_directory import RunDirectory
from tests.torture.accidents import ACCIDENTS
from tests.torture.bases import Base
from tests.torture.commands import Call, Ended, run_all, run_one
from tests.torture.edits import EDITS
from tests.torture.forgeries import FORGERIES, forge
from tests.torture.histories_changed import recounted
from tests.torture.table import Row

OUTCOMES = {0: "valid", 1: "violation", 2: "refused", 3: "unknown"}


@dataclass(frozen=True)
class _Damaged(Call):
    """A call of ``rumpus check`` for a run that was damaged, or forged.

    ``only_performed``: what its files do not show, ``--perform`` has to.
    """

    base: Base
    what: str
    forged: bool
    changed: bool
    only_performed: bool = False


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


def game(bases: list[Base], place: Path, pairs: int) -> Iterator[Row]:
    """Make every edit of runs that show a violation, and some two of them; a row a family.

    Args:
        bases: the runs.
        place: for files.
        pairs: so many of each family, chosen by hash: those of more pairs have those of fewer.
    """
    whole = len(EDITS) * (len(EDITS) - 1) // 2
    words = f"{len(EDITS)} edits and {min(pairs, whole):,} of {whole:,} pairs"
    for base in bases:
        if base.outcome == "violation":
            yield _check(f"{words}, {base.family}", _game(base, place / base.family, pairs))


def _game(base: Base, place: Path, pairs: int) -> Iterator[_Damaged]:
    chosen = sorted(combinations(EDITS, 2), key=lambda names: _hash(base.family, *names))[:pairs]
    for number, names in enumerate([*((name,) for name in EDITS), *chosen]):
        run = _copy(base, place, number)
        for name in names:
            EDITS[name](RunDirectory(run), RunDirectory(base.other))
        RunDirectory(run).seal()
        damaged = _damaged(base, ", then ".join(names), run, forged=True, changed=True)
        yield replace(damaged, only_performed=True)


def _hash(*words: str) -> bytes:
    return sha256("\0".join(words).encode()).digest()


def performed_again(bases: list[Base], place: Path) -> Row:
    """Make every edit with the counts made anew, and have each run performed again."""
    return _check(f"{len(EDITS)} edits, and --perform", _performed_again(bases, place))


def _performed_again(bases: list[Base], place: Path) -> Iterator[_Damaged]:
    broken = [base for base in bases if base.outcome == "violation"]
    for number, (base, name) in enumerate((base, name) for base in broken for name in EDITS):
        run = _copy(base, place, number)
        EDITS[name](RunDirectory(run), RunDirectory(base.other))
        recounted(RunDirectory(run))
        RunDirectory(run).seal()
        yield replace(
            _damaged(base, name, run, forged=True, changed=True),
            words=("check", str(run), "--json", "--perform"),
        )


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
        wrong = _wrong(call, ended, found)
        if wrong == "valid" and call.only_performed:
            again = run_one(replace(call, words=(*call.words, "--perform")))
            found = OUTCOMES.get(again.code, str(again.code))
            by = "by --perform alone" if found != "valid" else "by nothing"
            row.count(f"found {by} ({call.what})")
            wrong = again.trouble or (wrong if found == "valid" else None)
        if wrong is not None:
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
