"""Trials of a recipe: pieces of runs, and what they show of it as it is and of its mutants.

A mutant is killed by a promise that a run of it breaks and that no run of the recipe as it is has
broken. A run in which too little happened for a verdict, where the recipe as it is had one, is
noticed, too, but it says no more than that something is wrong.
"""

import contextlib
import math
import resource
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from rumpus.campaigns.corners import CornersTask, perform_corners
from rumpus.campaigns.pieces import RunKind, Task, task_of
from rumpus.campaigns.run_process import ProcessEndedError, Surroundings, surroundings
from rumpus.campaigns.short_runs import ShortRunsTask
from rumpus.campaigns.short_runs import perform as perform_short_runs
from rumpus.campaigns.tasks import Attempt, Underway, attempt, call_apart
from rumpus.exit_codes import DEFECT, ENVIRONMENT, UNDECIDED
from rumpus.mutation.marks import noted
from rumpus.mutation.source_mutants import path_of, with_marks
from rumpus.mutation.source_text import whole_diff
from rumpus.mutation.targets import Target, read
from rumpus.nemesis.swarm import ProfileName
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

PROFILE: Final[ProfileName] = "normal"

LONG: Final = frozenset[RunKind]({"usual", "swarm"})
"""Kinds of runs in which enough has to happen for a verdict."""

LONGEST_S: Final = 300.0
"""Seconds of processor time after which a piece of the recipe as it is is given up."""

LONGER: Final = 10.0
LEAST_LIMIT_S: Final = 30.0
"""A mutant's piece is given up after so many times the processor time of the recipe as it is, but
not before these seconds: a mistake may make a run endless."""

ROUND: Final = 4
"""Pieces of a round, one of each kind."""


class Piece(NamedTuple):
    """Runs that are performed at once.

    Attributes:
        kind: of the runs.
        seed: decides all that is random in them.
        number: which round they are of; of systematic ones, which corners.
    """

    kind: RunKind
    seed: int
    number: int


def pieces(first_seed: int = 0) -> Iterator[Piece]:
    """Pieces, round after round; seeds as those of explorations."""
    for number in count():
        seed = first_seed + ROUND * number
        yield Piece("usual", seed, number)
        yield Piece("systematic", seed + 3, number)
        yield Piece("short", seed + 2, number)
        yield Piece("swarm", seed + 1, number)


@dataclass(frozen=True)
class Shown:
    """What a piece of runs has shown.

    Attributes:
        broken: kinds of anomaly by which a run broke a promise of the recipe.
        hazards: kinds of anomaly of which the recipe promises nothing.
        of_servers: kinds for which the servers were blamed.
        valid: numbers of runs that were valid.
        failed: why runs could not be performed, where they could not.
        digests: of the runs.
        runs: how many there were.
        cpu_seconds: processor time.
    """

    broken: frozenset[str]
    hazards: frozenset[str]
    of_servers: frozenset[str]
    valid: frozenset[int]
    failed: tuple[str, ...]
    digests: tuple[str | None, ...]
    runs: int
    cpu_seconds: float


@dataclass(frozen=True)
class AsItIs:
    """What a piece has shown of the recipe as it is.

    Attributes:
        shown: what its runs have shown.
        lines: modules and lines that its clients have reached.
    """

    shown: Shown
    lines: frozenset[tuple[str, int]]


def shown_of(attempts: Sequence[Attempt]) -> Shown:
    """What runs have shown.

    Raises:
        EnvironmentRefusal, RuntimeError: this host does not allow one, or it was interrupted.
    """
    broken, hazards, of_servers = set[str](), set[str](), set[str]()
    valid, failed = set[int](), list[str]()
    digests: list[str | None] = []
    cpu_seconds = 0.0
    for number, each in enumerate(attempts):
        outcome = each.outcome
        if outcome is None:
            if each.exit_code in (ENVIRONMENT, UNDECIDED):
                each.raise_error()
            failed.append(each.death or each.error)
            digests.append(None)
            continue
        digests.append(outcome.digest)
        cpu_seconds += outcome.cpu_seconds
        if outcome.outcome == "valid":
            valid.add(number)
        hazards.update(seen.fingerprint.kind for seen in outcome.seen if not seen.promised)
        if outcome.outcome == "violation":
            kinds = {seen.fingerprint.kind for seen in outcome.seen if seen.promised}
            (of_servers if outcome.blamed == "servers" else broken).update(kinds)
    return Shown(
        frozenset(broken),
        frozenset(hazards),
        frozenset(of_servers),
        frozenset(valid),
        tuple(failed),
        tuple(digests),
        len(attempts),
        cpu_seconds,
    )


def perform_limited(task: Task, limit: float) -> list[Attempt]:
    """Perform a piece in this process, which ends if that takes too much processor time.

    Args:
        task: the piece.
        limit: seconds of processor time; a run that is forked has as many of its own.
    """
    usual = resource.getrlimit(resource.RLIMIT_CPU)
    end = math.ceil(time.process_time() + limit)
    hard = usual[1]
    if hard != resource.RLIM_INFINITY:
        end = min(end, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (end, hard))
    try:
        return _performed(task)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, usual)


def _performed(task: Task) -> list[Attempt]:
    if isinstance(task, ShortRunsTask):
        return [each.attempt for each in perform_short_runs(task)]
    if isinstance(task, CornersTask):
        return [each.attempt for each in perform_corners(task)]
    return [attempt(task)]


def perform_apart(task: Task, limit: float, where: Surroundings) -> list[Attempt]:
    """Perform a piece in this thread's process.

    Args:
        task: the piece.
        limit: seconds of processor time.
        where: where modules and files are found.
    """
    try:
        return call_apart(where, perform_limited, task, limit)
    except ProcessEndedError as error:
        why = f"it takes more than {limit:.0f} s of processor time"
        if error.how != "SIGXCPU":
            why = f"it ends its process: {error.how}"
        return [Attempt(error=why, exit_code=DEFECT)]


class Subject:
    """A recipe on trial.

    Args:
        settings: what is run, of which the seed is the first one.
        targets: the modules that are mutated.
        executor: performs runs.
        place: a directory for patches and notes.
    """

    def __init__(
        self, settings: RunSettings, targets: Sequence[Target], executor: Executor, place: Path
    ) -> None:
        self.settings = settings
        self.targets = targets
        self._executor, self._place = executor, place
        self._known: dict[Piece, Future[AsItIs]] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The recipe's."""
        return str(self.settings.recipe)

    def perform(self, piece: Piece, patch: Path | None = None, limit: float = LONGEST_S) -> Shown:
        """Perform a piece.

        Args:
            piece: which one.
            patch: a mutant's, or one that marks what is reached.
            limit: seconds of processor time after which it is given up.

        Raises:
            EnvironmentRefusal: whoever performs runs has gone.
        """
        settings = replace(
            self.settings,
            seed=self.settings.seed if piece.kind == "systematic" else piece.seed,
            patch=None if patch is None else str(patch),
        )
        task = task_of(piece.kind, settings, PROFILE, number=piece.number)
        return shown_of(
            Underway(self._executor, perform_apart, task, limit, surroundings()).result()
        )

    def as_it_is(self, piece: Piece) -> AsItIs:
        """What a piece shows of the recipe as it is; performed once.

        Raises:
            UsageError: it cannot be run; the message says why.
            EnvironmentRefusal: whoever performs runs has gone.
        """
        with self._lock:
            known = self._known.get(piece)
            mine = known is None
            future = self._known[piece] = known or Future()
        if mine:
            try:
                future.set_result(AsItIs(self._usual(piece), self._reached(piece)))
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def _usual(self, piece: Piece) -> Shown:
        shown = self.perform(piece)
        if len(shown.failed) == shown.runs:
            raise UsageError(f"{self.name} as it is cannot be run: {shown.failed[0]}")
        return shown

    def broken(self) -> Counter[str]:
        """The promises that the recipe has broken as it is -> in how many pieces, so far."""
        return Counter(kind for shown in self._so_far() for kind in shown.broken)

    def hazards(self) -> frozenset[str]:
        """The hazards that were seen with the recipe as it is, so far."""
        return frozenset(kind for shown in self._so_far() for kind in shown.hazards)

    def _so_far(self) -> list[Shown]:
        with self._lock:
            known = list(self._known.values())
        return [each.result().shown for each in known if each.done() and not each.exception()]

    def _reached(self, piece: Piece) -> frozenset[tuple[str, int]]:
        """The lines that a piece reaches: it is performed once more, with marks at each statement.

        A line more changes when threads are preempted, if that may happen at every line, so what is
        reached is that of a run which is almost the same.
        """
        name = f"{self.settings.workload}-{self.name}-{piece.kind}-{piece.seed}".replace("/", "-")
        note = self._place / f"{name.replace(':', '-')}.note"
        patch = note.with_suffix(".diff")
        patch.write_text(
            "".join(
                whole_diff(
                    path_of(target.name, is_package=target.is_package),
                    text,
                    with_marks(text, target.name, str(note)),
                )
                for target, text in read(self.targets)
            )
        )
        shown = self.perform(piece, patch)
        if shown.failed:
            raise RuntimeError(f"{self.name} with marks cannot be run: {shown.failed[0]}")
        found = noted(note)
        for each in (note, patch):
            with contextlib.suppress(FileNotFoundError):
                each.unlink()
        return frozenset(found)
