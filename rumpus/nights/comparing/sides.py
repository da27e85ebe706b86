"""The two sides of ``rumpus compare``: what a word names, and what came of its runs."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import msgspec

from rumpus.campaigns.case import SETTINGS
from rumpus.campaigns.run_cases import judged_again
from rumpus.checker.untrusted_file import files_below
from rumpus.nights.memory.evidence import Moments
from rumpus.nights.memory.store import Store
from rumpus.nights.memory.store_rows import NOT_PERFORMED, Tally, without_software
from rumpus.nights.records import FailureRow, RunRow, Subject
from rumpus.results.run_directory import RunDirectory
from rumpus.runs.made_here import is_made_here
from rumpus.runs.recorded_settings import settings_of
from rumpus.usage_error import UsageError

DESCRIPTION: Final = "test.json"
"""The file by which a directory is a run's."""
NIGHTS_OF_BRANCH: Final = 5
"""How many nights of a branch are compared: its newest."""

_VERSION: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)=(\S+)")
_LISTED: Final = 5

_APART: Final = frozenset(
    {"workload", "recipe", "ensemble", "seed", "kazoo", "zookeeper", "swarm", "runs"}
)
"""Options that a subject does not have among its ``options``."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that are compared with others.

    Attributes:
        name: the word that was given.
        what: what that is: ``night``, ``branch``, ``version`` or ``runs``.
        nights: the names of the nights that performed the runs; of directories none.
        tallies: what came of the runs.
        failures: by their identifiers, the failures that they showed.
    """

    name: str
    what: str
    nights: tuple[str, ...] = ()
    tallies: Sequence[Tally] = ()
    failures: dict[str, FailureRow] = {}

    def without_software(self) -> "Side":
        """The same, with subjects that do not say which versions they ask for."""
        tallies = [
            msgspec.structs.replace(each, subject=without_software(each.subject))
            for each in self.tallies
        ]
        return msgspec.structs.replace(self, tallies=tallies)


def side_of(
    word: str, opened: Callable[[], AbstractContextManager[Store]], *, trust: bool = False
) -> Side:
    """The runs that a word names.

    Args:
        word: a run's directory, or one with runs in it; a night (``2026-11-26``, ``last``,
            ``last~1``); a branch, whose newest 5 nights count; or a version (``kazoo=2.10.0``).
        opened: opens the store; it is called unless the word names a directory.
        trust: whether the user trusts the code that runs name.

    Raises:
        UsageError: it names nothing, or a run names code that is not trusted.
        UnreadableRun: a run or the store cannot be read.
        StoreError: the host does not let the store be read.
    """
    # Without a word nothing is named: not the working directory either.
    if word and (directories := _runs_in(Path(word))):
        return _side_of_runs(word, directories, trust=trust)
    with opened() as store:
        if (version := _VERSION.fullmatch(word)) is not None:
            side = _side_of_version(word, store, *version.groups())
        else:
            side = _side_of_nights(word, store)
        shown = {name for each in side.tallies for name in each.shown}
        failures = {each.id: each for each in store.failures() if each.id in shown}
        return msgspec.structs.replace(side, failures=failures)


def _side_of_version(word: str, store: Store, software: str, version: str) -> Side:
    tallies = store.rates(version=(software, version))
    if not tallies:
        known = store.versions().get(software, [])
        there = f"runs had {', '.join(known)}" if known else f"no run says which {software} it had"
        raise UsageError(f"{word}: no run of a night had that; {there}")
    return Side(name=word, what="version", nights=_nights(tallies), tallies=tallies)


def _side_of_nights(word: str, store: Store) -> Side:
    nights = store.nights()
    if word.partition("~")[0] == "last" or any(each.name == word for each in nights):
        chosen, what = [store.night(word).name], "night"
    else:
        branch = [each.name for each in nights if word and each.branch == word]
        chosen, what = branch[:NIGHTS_OF_BRANCH], "branch"
    if not chosen:
        names = ", ".join(each.name for each in nights[:_LISTED]) or "none"
        branches = ", ".join(sorted({each.branch for each in nights} - {""})[:_LISTED]) or "none"
        raise UsageError(
            f"{word}: neither a run's directory, nor a night (the newest: {names}), nor a branch "
            f"with nights (there are: {branches}), nor a version such as kazoo=2.10.0"
        )
    return Side(name=word, what=what, nights=tuple(chosen), tallies=store.rates(chosen))


def _nights(tallies: Iterable[Tally]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.night for each in tallies))


def _runs_in(path: Path) -> list[Path]:
    """The directories of runs that a path names: its own, or those in it."""
    if (path / DESCRIPTION).is_file():
        return [path]
    if not path.is_dir():
        return []
    # Each once, whatever links lead to it.
    found = (each for each in files_below(path, DESCRIPTION) if each.name == DESCRIPTION)
    return sorted({each.parent.resolve() for each in found})


def _side_of_runs(word: str, directories: Iterable[Path], *, trust: bool) -> Side:
    rows: list[RunRow] = []
    failures: dict[str, FailureRow] = {}
    seen: set[str] = set()
    for path in directories:
        if (run := RunDirectory(path).read_record().run) in seen:
            continue  # a copy
        seen.add(run)
        row, shown = run_row(path, trust=trust)
        rows.append(row)
        failures |= {each.id: each for each in shown}
    return Side(name=word, what="runs", tallies=tallied(rows), failures=failures)


def run_row(path: Path, *, trust: bool = False) -> tuple[RunRow, list[FailureRow]]:
    """A run that is judged from its directory, as a night would note it, and its failures.

    A run does not tell which faults a failure needs, so its failures say none.

    Raises:
        UsageError: its command line is not one of ``rumpus run``; or it was not made here: its own
            files prove neither what it has nor what it lacks.
        UnreadableRun: something is missing or malformed.
    """
    if not is_made_here(path):
        raise UsageError(
            f"{path} was not made here, so its own files prove neither what it shows nor what it "
            "does not: take it at its word with `rumpus check --believe`, and compare then"
        )
    judgement, outcome = judged_again(path, trust=trust)
    # What was asked for: other runs of the same have drawn something else.
    settings = settings_of(judgement.record, path)
    options = {
        name: getattr(settings, option.name)
        for name, option in SETTINGS.items()
        if option.name not in _APART and option.is_given(settings)
    }
    subject = Subject(
        workload=settings.workload,
        recipe=settings.recipe or "",
        world="sim" if judgement.record.ensemble == "sim" else "docker",
        zookeeper=settings.zookeeper or "",
        kazoo=settings.kazoo or "",
        options=msgspec.to_builtins(options),
    )
    failures = [
        FailureRow(
            workload=subject.workload,
            recipe=subject.recipe,
            fingerprint=each.fingerprint,
            blamed=outcome.blamed,
        )
        for each in outcome.seen
        if each.promised
    ]
    row = RunRow(
        role="run",
        subject=subject.key,
        seed=outcome.seed,
        outcome=outcome.outcome,
        versions=outcome.versions,
        figures=outcome.figures,
        failures=tuple(each.id for each in failures),
    )
    return row, failures


def tallied(rows: Iterable[RunRow]) -> list[Tally]:
    """What came of runs, as the store counts it."""
    batches: dict[tuple[str, str, str, str, str], list[RunRow]] = defaultdict(list)
    for row in rows:
        versions = msgspec.json.encode(row.versions, order="sorted").decode()
        batches[row.subject, row.role, row.name, row.kind, versions].append(row)
    return [_tally(each) for each in batches.values()]


def _tally(rows: Sequence[RunRow]) -> Tally:
    outcomes: dict[str, int] = {}
    shown: dict[str, int] = {}
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        outcome = row.outcome or NOT_PERFORMED
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        for failure in set(row.failures):
            shown[failure] = shown.get(failure, 0) + 1
        for name, value in row.figures.items():
            values[name].append(value)
    moments = {name: Moments.of(each) for name, each in values.items()}
    return Tally(
        night="",
        subject=rows[0].subject,
        role=rows[0].role,
        name=rows[0].name,
        kind=rows[0].kind,
        versions=rows[0].versions,
        outcomes=outcomes,
        shown=shown,
        figures={name: each for name, each in moments.items() if each.count},
        seconds=sum(row.seconds for row in rows),
    )
