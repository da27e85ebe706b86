"""The hunt for mutants of a recipe: each is run until something shows, or its time is over."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from rumpus.mutation.fates import Fate, fate_of
from rumpus.mutation.source_mutants import SourceMutant
from rumpus.mutation.trials import LEAST_LIMIT_S, LONG, LONGER, ROUND, Piece, Shown, Subject, pieces

ROUNDS: Final = 12
"""After so many rounds a hunt ends, whatever its budget."""

ROUNDS_TO_DIFFER: Final = 1
"""A mutant of which so many rounds show no run that differs is given up: its line is not reached,
or it makes no difference."""


@dataclass
class _Trace:
    """What is known of a mutant while it is hunted."""

    mutant: SourceMutant
    patch: Path
    reached: bool = False
    differs: bool = False
    hazards: set[str] = field(default_factory=set)
    noticed_by: tuple[str, str] | None = None
    servers_blamed: bool = False
    runs: int = 0
    cpu_seconds: float = 0.0
    killers: frozenset[str] = field(default_factory=frozenset)

    def take(self, shown: Shown, usual: Shown, subject: Subject) -> bool:
        """Take what a piece has shown; whether that kills it.

        Args:
            shown: of the mutant.
            usual: of the recipe as it is.
            subject: this recipe, which may break promises as it is, or show hazards.
        """
        self.runs += shown.runs
        self.cpu_seconds += shown.cpu_seconds
        self.differs = self.differs or shown.digests != usual.digests
        self.servers_blamed = self.servers_blamed or bool(shown.of_servers - usual.of_servers)
        self.hazards |= shown.hazards - usual.hazards - subject.hazards()
        new = shown.broken - usual.broken - subject.broken().keys()
        if shown.failed and not usual.failed:
            new |= {f"no run: {shown.failed[0].splitlines()[0]}"}
        self.killers = frozenset(new)
        return bool(new)


class Hunt:
    """Hunts mutants.

    Args:
        subjects: recipes, each with its modules. A mutant is killed if a trial of any recipe kills
            it that is made of its module.
        place: a directory for patches.
        budget: seconds of processor time for each mutant, after which no further piece begins.
        first_seed: of the runs.
    """

    def __init__(
        self, subjects: Sequence[Subject], place: Path, *, budget: float, first_seed: int = 0
    ) -> None:
        self._subjects, self._place = subjects, place
        self._budget, self._first_seed = budget, first_seed
        self._luck = Counter[tuple[str, str, str]]()
        """Module, recipe, kind of run -> how many mutants these have killed."""
        self._lock = threading.Lock()

    def hunt(
        self, mutants: Sequence[SourceMutant], note: Callable[[Fate], None], jobs: int
    ) -> None:
        """Hunt mutants, so many at once; each fate is noted as soon as it is known.

        Raises:
            EnvironmentRefusal: this host does not allow runs, or whoever performs them has gone.
            KeyboardInterrupt: Ctrl-C. What is known by then was noted.
        """
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="hunt")
        try:
            going = [pool.submit(self.fate, each) for each in mutants]
            for each in as_completed(going):
                note(each.result())
        finally:  # hunts that go on end with their runs, which end with whoever performs them
            pool.shutdown(wait=False, cancel_futures=True)

    def fate(self, mutant: SourceMutant) -> Fate:
        """What becomes of a mutant.

        Raises:
            EnvironmentRefusal: as for ``hunt``.
        """
        patch = self._place / f"{mutant.id}.diff"
        patch.write_text(mutant.diff, "utf-8")
        trace = _Trace(mutant, patch)
        try:
            return self._hunted(trace)
        finally:
            patch.unlink(missing_ok=True)

    def _hunted(self, trace: _Trace) -> Fate:
        for subject, piece in self._tries(trace):
            usual = subject.as_it_is(piece)
            if (trace.mutant.module, trace.mutant.statement) not in usual.lines:
                continue
            trace.reached = True
            limit = max(LEAST_LIMIT_S, LONGER * usual.shown.cpu_seconds)
            shown = subject.perform(piece, trace.patch, limit)
            if trace.take(shown, usual.shown, subject):
                with self._lock:
                    self._luck[trace.mutant.module, subject.name, piece.kind] += 1
                return self._told(
                    trace, "killed", sorted(trace.killers), (subject.name, piece.kind)
                )
            if piece.kind in LONG and usual.shown.valid - shown.valid:
                trace.noticed_by = trace.noticed_by or (subject.name, piece.kind)
        if not trace.reached:
            return self._told(trace, "unreached")
        if trace.noticed_by is not None:
            return self._told(trace, "noticed", ["too little happened"], trace.noticed_by)
        return self._told(trace, "survived" if trace.differs else "same")

    def _tries(self, trace: _Trace) -> Iterator[tuple[Subject, Piece]]:
        """Recipes and pieces, those first that have killed most of its neighbours."""
        module = trace.mutant.module
        of_it = [s for s in self._subjects if any(t.name == module for t in s.targets)]
        all_pieces = pieces(self._first_seed)
        for number in range(ROUNDS):
            if number == ROUNDS_TO_DIFFER and not trace.differs:
                return
            tries = [(s, piece) for piece in list(islice(all_pieces, ROUND)) for s in of_it]
            with self._lock:
                luck = dict(self._luck)
            tries.sort(key=lambda each: -luck.get((module, each[0].name, each[1].kind), 0))
            for each in tries:
                if trace.runs and trace.cpu_seconds >= self._budget:
                    return
                yield each

    def _told(
        self,
        trace: _Trace,
        state: str,
        by: Sequence[str] = (),
        where: tuple[str, str] = ("", ""),
    ) -> Fate:
        return fate_of(
            trace.mutant,
            state,  # type: ignore[arg-type]  # one of State
            by=by,
            recipe=where[0],
            kind=where[1],
            hazards=sorted(trace.hazards),
            servers_blamed=trace.servers_blamed,
            runs=trace.runs,
            cpu_seconds=round(trace.cpu_seconds, 2),
            budget=self._budget,
        )
