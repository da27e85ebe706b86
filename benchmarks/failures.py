"""Failures whose cause is known, made from programs that have one flaw each.

The programs are mutants of recipes, sound recipes on mutant servers, and kazoo's recipes with all
reports of ``docs/upstream`` mended but one. A broken promise of such a program comes of its flaw.

``python -m benchmarks.failures FILE [--minutes M]`` performs what a file lacks: the kept cases,
which are failures that were shrunk, and short runs of each program, seed by seed, until enough of
them have failed. A line is a case, or a seed of a program, with the failures that it has shown; it
is written when it is complete. So generation goes on where it was interrupted. The program's
settings, seed and number repeat a run (`run_of`).
"""

import argparse
import gzip
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from rumpus.campaigns.case import SETTINGS, load_case
from rumpus.campaigns.short_runs import ShortRunsTask, draw
from rumpus.campaigns.short_runs import submit as submit_short_runs
from rumpus.campaigns.tasks import processes, submit
from rumpus.campaigns.trial_task import TrialOutcome, TrialTask
from rumpus.recipes.catalogue_entry import CatalogueEntry
from rumpus.results.traits import Traits
from rumpus.runs.recorded_settings import settings_of_words
from rumpus.runs.run_settings import RunSettings
from rumpus.simulation.zookeeper.mutants.catalogue import SERVER_MUTANTS
from rumpus.workloads.registry import WORKLOADS

ROOT: Final = Path(__file__).resolve().parents[1]
CASES: Final = ROOT / "cases"
REPORTS: Final = ROOT / "docs" / "upstream"
ENDING: Final = ".case.json"

WANTED: Final = 9
"""Failing runs of a program."""

OF_A_SEED: Final = 3
"""How many failing runs of one seed count: its runs are alike."""

RUNS: Final = 4
"""Short runs of a seed."""

SEEDS: Final = 8

NO_CAUSE: Final = "library/none"
"""How the cause of a failure begins that is seen with all flaws mended."""

TOO_LONG: Final = frozenset({"partitioner/never-held"})
"""Causes that are left out: a run of them has 40,000 operations."""

MOST_SEEN: Final = 4
"""How many broken promises of a run count."""

What = Literal["recipe", "servers", "library"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program with one flaw.

    Attributes:
        cause: the flaw's name.
        what: what has it.
        base: family and recipe without the flaw, by which alone failures may be told apart.
        settings: of its runs, as those of a case.
    """

    cause: str
    what: What
    base: str
    settings: dict[str, Any]

    @property
    def family(self) -> str:
        """The workload that shows it."""
        return str(self.settings["workload"])


class Shown(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that has shown a flaw.

    Attributes:
        number: which short run of the seed; None of a case.
        digest: of the run.
        kinds: the kinds of its faults.
        traits: of each promise that was broken.
    """

    number: int | None = None
    digest: str | None = None
    kinds: tuple[str, ...] = ()
    traits: tuple[Traits, ...] = ()


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a seed of a program, or a kept case, has shown.

    Attributes:
        program: what was run.
        seed: of the runs.
        case: the case's path in ``cases``; empty for short runs.
        shown: the runs that failed.
    """

    program: Program
    seed: int
    case: str = ""
    shown: tuple[Shown, ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        """What is done when this line is written."""
        return self.program.cause, self.case, 0 if self.case else self.seed


def programs() -> Iterator[Program]:
    """All programs with one flaw."""
    yield from _recipes()
    yield from _servers()
    yield from _libraries()


def _recipes() -> Iterator[Program]:
    for family, workload in WORKLOADS.items():
        catalogue: Mapping[str, CatalogueEntry[Any]] = workload.catalogue
        for name, entry in catalogue.items():
            if entry.faulty and f"{family}/{name}" not in TOO_LONG:
                yield Program(
                    cause=f"{family}/{name}",
                    what="recipe",
                    base=f"{family} / {_sound(catalogue, entry)}",
                    settings={"workload": family, "recipe": name},
                )


def _sound(catalogue: Mapping[str, CatalogueEntry[Any]], mutant: CatalogueEntry[Any]) -> str:
    """The sound recipe of which a mutant is a variant."""
    of = [
        name
        for name, entry in catalogue.items()
        if not entry.faulty and issubclass(mutant.recipe, entry.recipe)
    ]
    return of[-1]


def _servers() -> Iterator[Program]:
    for name, server in SERVER_MUTANTS.items():
        if server.expected:
            asked = settings_of_words(["run", server.workload, *server.options])
            given = _given(replace(asked, recipe=server.recipe, server_mutant=name))
            yield Program(
                cause=f"servers/{name}",
                what="servers",
                base=f"{server.workload} / {server.recipe}",
                settings=given,
            )


def _given(settings: RunSettings) -> dict[str, Any]:
    """Settings that differ from their defaults, as a case has them."""
    told = {
        key: getattr(settings, option.name)
        for key, option in SETTINGS.items()
        if option.is_given(settings)
    }
    told.pop("ensemble", None)
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return plain


def _libraries() -> Iterator[Program]:
    """Kazoo with one of its known flaws, for each case of such a flaw; and without any.

    What is seen with all mended is of no known cause (`NO_CAUSE`).
    """
    mends = sorted(REPORTS.glob("kazoo-*.md"))
    for path in sorted((CASES / "findings").glob(f"*{ENDING}")):
        flaw = f"kazoo-{path.name.removesuffix(ENDING).partition('-')[2]}"
        others = [each for each in mends if each.stem != flaw]
        settings = load_case(path).settings
        if len(others) == len(mends) or settings.get("kazoo"):
            continue
        kept = {"workload", "recipe", "usage", "strict"}
        base = f"{settings['workload']} / {settings['recipe']}"
        for cause, changes in ((f"library/{flaw}", others), (f"{NO_CAUSE} {base}", mends)):
            yield Program(
                cause=cause,
                what="library",
                base=base,
                settings={
                    **{name: each for name, each in settings.items() if name in kept},
                    "kazoo": "+".join(["", *(str(each.relative_to(ROOT)) for each in changes)]),
                },
            )


def settings_of(program: Program, seed: int) -> RunSettings:
    """The settings of a seed of a program, before its short runs are drawn."""
    told = {SETTINGS[key].name: value for key, value in program.settings.items()}
    return RunSettings(**{"argv": (), "ensemble": "sim", "seed": seed, **told})


def task_of(program: Program, seed: int) -> ShortRunsTask:
    """The short runs of a seed of a program."""
    return ShortRunsTask(settings=settings_of(program, seed), profile="normal", count=RUNS)


def run_of(line: Line, shown: Shown) -> TrialTask:
    """The run that has shown a failure, to be performed again."""
    if shown.number is None:
        return load_case(CASES / line.case).task()
    return draw(task_of(line.program, line.seed))[shown.number]


def read(file: Path) -> list[Line]:
    """The lines of a file that are complete, compressed or not; none if there is no file."""
    if not file.exists():
        return []
    content = file.read_bytes()
    if file.suffix == ".gz":
        content = gzip.decompress(content)
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    decoder = msgspec.json.Decoder(Line)
    return [decoder.decode(each) for each in whole]


def generate(file: Path, *, seconds: float) -> None:
    """Perform what a file lacks, and add it line by line, until the time is over."""
    ends = time.monotonic() + seconds
    lines = read(file)
    done = {line.key for line in lines}
    failing: Counter[str] = Counter()
    for line in lines:
        failing[line.program.cause] += 0 if line.case else len(line.shown)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as out, processes(1) as executor:
        out.truncate(file.read_bytes().rfind(b"\n") + 1)  # without the line of a killed process
        for line in _wanted():
            cause = line.program.cause
            enough = not line.case and failing[cause] >= WANTED
            if enough or line.key in done:
                continue
            if time.monotonic() > ends:
                return
            shown = _of_case(line, executor) if line.case else _of_seed(line, executor)
            failing[cause] += 0 if line.case else len(shown)
            out.write(msgspec.json.encode(msgspec.structs.replace(line, shown=shown)) + b"\n")
            out.flush()


def _wanted() -> Iterator[Line]:
    """The lines, in an order in which a part of them is as good a set as it can be.

    First half of the programs have two seeds each; then come the cases, each of which takes one
    run; then the other half, and then all have the other seeds.
    """
    every = list({program.cause: program for program in programs()}.values())
    every.sort(key=lambda program: sha256(program.cause.encode()).digest())
    half = len(every) // 2
    yield from _of_seeds(every[:half], range(2))
    by_cause = {program.cause: program for program in every}
    for cause, path in _kept():
        if cause in by_cause:
            name = str(path.relative_to(CASES))
            yield Line(program=by_cause[cause], seed=load_case(path).seed, case=name)
    yield from _of_seeds(every[half:], range(2))
    yield from _of_seeds(every, range(2, SEEDS))


def _of_seeds(some: Sequence[Program], seeds: Iterable[int]) -> Iterator[Line]:
    return (Line(program=program, seed=seed) for seed in seeds for program in some)


def _kept() -> Iterator[tuple[str, Path]]:
    """The kept cases and their causes. Those of kazoo's flaws are of kazoo with all its flaws."""
    for path in sorted(CASES.rglob(f"*{ENDING}")):
        folder, *between = path.relative_to(CASES).parent.parts
        name = path.name.removesuffix(ENDING)
        cause = {
            "mutants": f"{'/'.join(between)}/{name}",
            "servers": f"servers/{name}",
            "findings": f"library/kazoo-{name.partition('-')[2]}",
        }[folder]
        yield cause, path


def _of_seed(line: Line, executor: Executor) -> tuple[Shown, ...]:
    """The runs of a seed that failed, a few of them."""
    runs = submit_short_runs(executor, task_of(line.program, line.seed)).result()
    shown = (
        _shown(run.attempt.outcome, number)
        for number, run in enumerate(runs)
        if run.attempt.outcome is not None
    )
    return tuple(each for each in shown if each.traits)[:OF_A_SEED]


def _of_case(line: Line, executor: Executor) -> tuple[Shown, ...]:
    """The run of a case, if it shows the case's failure."""
    case = load_case(CASES / line.case)
    outcome = submit(executor, case.task()).result().outcome
    shown = None if outcome is None else _shown(outcome, None, case.expects.kind)
    return (shown,) if shown is not None and shown.traits else ()


def _shown(outcome: TrialOutcome, number: int | None, kind: str | None = None) -> Shown:
    """The broken promises of a run, perhaps of one kind only."""
    traits = [
        seen.traits
        for seen in outcome.seen
        if seen.promised and seen.traits is not None and kind in (None, seen.fingerprint.kind)
    ]
    kinds = tuple(outcome.plan.kinds)
    return Shown(
        number=number, digest=outcome.digest, kinds=kinds, traits=tuple(traits[:MOST_SEEN])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0, help="default: 60")
    options = parser.parse_args()
    generate(options.file, seconds=60 * options.minutes)
    lines = read(options.file)
    failures = sum(len(shown.traits) for line in lines for shown in line.shown)
    causes = len({line.program.cause for line in lines if line.shown})
    shrunk = sum(len(line.shown) for line in lines if line.case)
    print(f"{failures} failures of {causes} causes, {shrunk} of them shrunk")


if __name__ == "__main__":
    main()
