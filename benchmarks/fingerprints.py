"""How well failures of one cause are taken for one, and others told apart.

The failures are those of ``benchmarks.failures``, whose cause is known. Those of one sound recipe
are noted in one exploration, as if that recipe had all flaws of its mutants, and of the servers and
libraries below it. Two failures of different runs are a pair. *Precision*: of the pairs that are
taken for one, the share that have one cause. *Recall*: of the pairs of one cause, the share that
are taken for one. *before*: by kind and operations alone.

Nothing may tell the programs apart but what failures show. So the names of recipes are left out.
A mutant's lines lie in files of its own, which no flaw of a user's recipe would do: of its lines
only the names of functions are compared, which it shares with the sound recipe.

A third of the causes, drawn by a hash of their names, is held out: nobody looks at them while the
comparison is made. ``--held-out`` measures these alone.

``python -m benchmarks.fingerprints [FILE] [--held-out] [--fit]``. ``--fit`` estimates the weights
of ``results/likeness.py`` again, by logistic regression on pairs that are not held out.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import Scale, add_quick_option
from benchmarks.failures import NO_CAUSE, Line, read
from rumpus.campaigns.case import Case
from rumpus.campaigns.findings import Findings, Found
from rumpus.campaigns.looks import Failure
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.likeness import SIGNS, shares
from rumpus.results.traits import Traits

KEPT: Final = Path(__file__).with_name("failures.jsonl.gz")
ONE_IN: Final = 3
TOLD: Final = 10
"""How many of the most frequent mistakes are named."""

QUICK: Final = 150

_LINE: Final = re.compile(r"[\w.]+:\d+ in (\S+)")


class Labelled(NamedTuple):
    """A failure whose cause is known.

    Attributes:
        cause: its name.
        family: the workload.
        base: the sound recipe; failures of different ones are never compared.
        run: which run has shown it.
        kinds: the kinds of the run's faults.
        traits: its signs.
    """

    cause: str
    family: str
    base: str
    run: str
    kinds: tuple[str, ...]
    traits: Traits


class Counts(NamedTuple):
    """Pairs of failures: rightly taken for one, wrongly, and wrongly told apart."""

    one: int = 0
    wrongly_one: int = 0
    wrongly_apart: int = 0

    def __add__(self, other: object) -> "Counts":
        assert isinstance(other, Counts)
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        """Of the pairs taken for one, the share that are."""
        return self.one / max(1, self.one + self.wrongly_one)

    @property
    def recall(self) -> float:
        """Of the pairs that are one, the share taken for one."""
        return self.one / max(1, self.one + self.wrongly_apart)


class Mistakes(NamedTuple):
    """Which pairs were wrongly taken for one, and wrongly told apart."""

    one: Counter[str]
    apart: Counter[str]


def is_held_out(cause: str) -> bool:
    """Whether a cause is looked at only with ``--held-out``.

    Mutants of the same name have the same mistake, whatever their family.
    """
    return int.from_bytes(sha256(cause.rpartition("/")[2].encode()).digest()) % ONE_IN == 0


def labelled(lines: Iterable[Line], *, held_out: bool) -> list[Labelled]:
    """The failures of a set, in an order in which those of one cause do not stand together."""
    found = []
    for line in lines:
        program = line.program
        if program.cause.startswith(NO_CAUSE) or is_held_out(program.cause) != held_out:
            continue
        for shown in line.shown:
            run = f"{program.cause} {line.seed} {line.case} {shown.number}"
            found += [
                Labelled(
                    program.cause, program.family, program.base, run, shown.kinds, _neutral(each)
                )
                for each in shown.traits
            ]
    return sorted(found, key=lambda each: sha256(each.run.encode()).digest())


def _neutral(traits: Traits) -> Traits:
    """Signs without what only a mutant has: its own files and their lines."""
    return msgspec.structs.replace(
        traits,
        lines=tuple(sorted({_LINE.sub(r"\1", each) for each in traits.lines})),
        places=tuple(sorted({_LINE.sub(r"\1", each) for each in traits.places})),
    )


def told_apart(failures: Sequence[Labelled], *, signs: bool = True) -> list[int]:
    """For each failure the number of the one it is taken for, in one exploration.

    Args:
        failures: of one base.
        signs: whether the signs of their causes are known.
    """
    findings = Findings()
    number = {run: n for n, run in enumerate(dict.fromkeys(each.run for each in failures))}
    for each in failures:
        failure = Failure(
            seed=number[each.run],
            fingerprint=Fingerprint(kind=each.traits.kind, operations=each.traits.operations),
            kinds=each.kinds,
            traits=each.traits if signs else None,
        )
        findings.note(failure, partial(_made, failure))
    return findings.taken


def _made(failure: Failure) -> Found:
    """A case of a failure, as if nothing were known of the faults that it needs."""
    plan = FaultPlan(version=1)
    case = Case(
        settings={"workload": "any"}, seed=failure.seed, plan=plan, expects=failure.fingerprint
    )
    return Found(case=case, failure=failure, operations=0)


def counted(
    failures: Sequence[Labelled], groups: Sequence[int], mistakes: Mistakes | None = None
) -> Counts:
    """The pairs of failures of one base, by what became of them."""
    counts: Counter[str] = Counter()
    for (a, of_a), (b, of_b) in combinations(zip(failures, groups, strict=True), 2):
        if a.run == b.run:
            continue
        same, taken = a.cause == b.cause, of_a == of_b
        counts["one"] += same and taken
        counts["wrongly_one"] += taken and not same
        counts["wrongly_apart"] += same and not taken
        if mistakes is not None and taken and not same:
            mistakes.one[" and ".join(sorted({a.cause, b.cause}))] += 1
        elif mistakes is not None and same and not taken:
            kinds = sorted((a.traits.kind, b.traits.kind))
            mistakes.apart[f"{a.cause}: {' and '.join(kinds)}"] += 1
    return Counts(**counts)


def by_base(failures: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """The failures of each base."""
    found: dict[str, list[Labelled]] = defaultdict(list)
    for each in failures:
        found[each.base].append(each)
    return found


def measure(scale: Scale, file: Path = KEPT, *, held_out: bool = False) -> Table:
    """Precision and recall by family, and the most frequent mistakes."""
    failures = labelled(read(file), held_out=held_out)
    failures = failures[:QUICK] if scale.quick else failures
    mistakes = Mistakes(Counter(), Counter())
    before: dict[str, Counts] = defaultdict(Counts)
    after: dict[str, Counts] = defaultdict(Counts)
    for some in by_base(failures).values():
        family = some[0].family
        before[family] += counted(some, told_apart(some, signs=False))
        after[family] += counted(some, told_apart(some), mistakes)
    table = Table("family", "causes", "failures", "precision", "recall", "before", "", "pairs")
    for family in sorted(after, key=lambda each: -after[each].one - after[each].wrongly_apart):
        of_family = [each for each in failures if each.family == family]
        table.add_row(family, *_cells(of_family, after[family], before[family]))
    every = sum(after.values(), Counts()), sum(before.values(), Counts())
    table.add_row("in all", *_cells(failures, *every))
    for said, wrong in (("wrongly one", mistakes.one), ("wrongly apart", mistakes.apart)):
        for what, pairs in wrong.most_common(TOLD):
            table.add_row(said, "", "", "", "", "", "", f"{pairs}: {what}")
    return table


def _cells(failures: Sequence[Labelled], now: Counts, then: Counts) -> Iterator[str]:
    yield f"{len({each.cause for each in failures})}"
    yield f"{len(failures)}"
    for counts in (now, then):
        yield f"{counts.precision:.3f}" if counts.one + counts.wrongly_one else "-"
        yield f"{counts.recall:.3f}" if counts.one + counts.wrongly_apart else "-"
    yield f"{now.one + now.wrongly_apart}"


def fit(file: Path) -> Table:
    """The weights, estimated on what is not held out: logistic regression, no weight below 0.

    Only pairs of one kind of anomaly count. A pair of two causes weighs the less the more failures
    these have, so that a few frequent causes do not decide.
    """
    signs, same, weighs = [], [], []
    for some in by_base(labelled(read(file), held_out=False)).values():
        of_cause = Counter(each.cause for each in some)
        for a, b in combinations(some, 2):
            if a.run != b.run and a.traits.kind == b.traits.kind:
                alike = shares(a.traits, b.traits)
                signs.append([each for both in alike.values() for each in both] + [1.0])
                same.append(a.cause == b.cause)
                weighs.append((of_cause[a.cause] * of_cause[b.cause]) ** -0.5)
    x, y, share = np.array(signs), np.array(same, float), np.array(weighs) / sum(weighs)
    weights = np.zeros(x.shape[1])
    for _ in range(6_000):
        gradient = x.T @ ((1 / (1 + np.exp(-x @ weights)) - y) * share)
        weights -= 2 * (gradient + np.append(weights[:-1], 0) / len(y))
        weights[:-1] = np.maximum(weights[:-1], 0)
    table = Table("sign", "weight", "same")
    for place, name in enumerate(SIGNS):
        table.add_row(name, f"{weights[2 * place]:.2f}", f"{weights[2 * place + 1]:.2f}")
    table.add_row("bias", f"{weights[-1]:.2f}", "")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_quick_option(parser)
    parser.add_argument("file", nargs="?", type=Path, default=KEPT)
    parser.add_argument("--held-out", action="store_true", help="the causes that are held out")
    parser.add_argument("--fit", action="store_true", help="estimate the weights again")
    options = parser.parse_args()
    scale = Scale(options.quick)
    held_out = options.held_out
    table = fit(options.file) if options.fit else measure(scale, options.file, held_out=held_out)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
