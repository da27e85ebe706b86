"""The hunt for one mutant: simulated runs, seed after seed, until its mistake shows.

``hunt`` asks whether a mutant is caught at all, within a budget; ``survey`` asks how often, over a
fixed number of seeds. Either way every anomaly that the mutant names as its own has to be seen as
a broken promise: a mutant that is red by one anomaly proves nothing of a check for another.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Literal, NamedTuple

from rumpus.checker.verdict import Blamed

KINDS = ("default", "all")
"""The faults of a budget's runs, in turn: those of every world, and those of simulated ones."""

WANTED_SHARE = Fraction(4, 5)
"""The least share of the seeds of a survey in which a mutant has to be caught."""


@dataclass(frozen=True)
class Mutant:
    """A recipe, or a server, with a known mistake.

    Args:
        family: the workload that shows the mistake.
        name: the mutant's.
        expected: the anomalies that are its own.
        recipe: a sound recipe that mutant servers are shown by; None for a recipe that is itself
            the mutant.
        options: what a run of it is told besides.
    """

    family: str
    name: str
    expected: frozenset[str]
    recipe: str | None = None
    options: tuple[str, ...] = ()

    @property
    def blamed(self) -> Blamed:
        """Whose promises it breaks."""
        return "recipe" if self.recipe is None else "servers"

    def words(self, seed: int, kinds: str) -> list[str]:
        """What ``rumpus`` is told to perform one run of it."""
        words = ["run", self.family, "--recipe", self.recipe or self.name, "--ensemble", "sim"]
        if self.recipe is not None:
            words += ["--server-mutant", self.name]
        words += [*self.options, "--seed", str(seed)]
        return words if kinds == "default" else [*words, "--nemesis", kinds]


class Told(NamedTuple):
    """What a run told.

    ``exit_code`` is that of ``rumpus run``, ``broken`` the kinds of anomaly that broke a promise,
    ``blamed`` whose promise it was, ``words`` the last words of a run that could not be performed.
    """

    exit_code: int
    broken: frozenset[str] = frozenset()
    blamed: Blamed = "recipe"
    words: str = ""


@dataclass
class Hunt:
    """How a hunt ended.

    Attributes:
        mutant: the mutant.
        outcome: ``caught``: every anomaly that is the mutant's was seen as a broken promise (in a
            survey: and in enough of its runs one of them was). ``weak``: every anomaly was seen,
            in too few runs of a survey. ``missed``: some anomaly was never seen. ``failed``: a
            run could not be performed.
        anomalies: the broken promises of all runs, and in how many runs each was seen.
        runs: the number of runs performed.
        caught: the number of runs that were violations by an anomaly that is the mutant's.
        seconds: the time taken, by the clock.
        command: shows the first violation by an anomaly of the mutant's again; empty without one.
        words: the reason of a failure.
    """

    mutant: Mutant
    outcome: Literal["caught", "weak", "missed", "failed"] = "missed"
    anomalies: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    caught: int = 0
    seconds: float = 0.0
    command: str = ""
    words: str = ""

    @property
    def unseen(self) -> frozenset[str]:
        """Anomalies that are the mutant's and were in no run."""
        return self.mutant.expected - set(self.anomalies)

    def note(self, told: Told, seed: int, kinds: str) -> bool:
        """Enter what a run told; whether the hunt can go on."""
        self.runs += 1
        if told.exit_code not in (0, 1, 3):
            self.outcome, self.words = "failed", told.words
            return False
        if told.blamed != self.mutant.blamed:
            return True  # red for a wrong reason proves nothing
        self.anomalies.update(told.broken)
        if told.exit_code == 1 and told.broken & self.mutant.expected:
            self.caught += 1
            self.command = self.command or " ".join(["rumpus", *self.mutant.words(seed, kinds)])
        return True


Perform = Callable[[Mutant, int, str], Told]
"""Performs one run of a mutant with a seed, under the faults of one of ``KINDS``."""


def hunt(
    mutant: Mutant,
    perform: Perform,
    *,
    budget: float,
    first_seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Hunt:
    """Perform runs of a mutant until all of its anomalies have been seen.

    Args:
        mutant: the mutant.
        perform: performs a run.
        budget: seconds; no run begins when they are spent. The first always does.
        first_seed: the seeds count up from it.
        clock: seconds, monotonic.
    """
    began = clock()
    found = Hunt(mutant)
    for seed, kinds in _tries(first_seed):
        going = found.note(perform(mutant, seed, kinds), seed, kinds)
        found.seconds = clock() - began
        if not going:
            return found
        if not found.unseen:
            found.outcome = "caught"
            return found
        if found.seconds >= budget:
            return found
    raise AssertionError("seeds do not end")


def survey(
    mutant: Mutant,
    perform: Perform,
    *,
    seeds: int,
    first_seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Hunt:
    """Perform a mutant under the default faults with so many seeds, whatever they show."""
    began = clock()
    found = Hunt(mutant)
    for seed in range(first_seed, first_seed + seeds):
        going = found.note(perform(mutant, seed, KINDS[0]), seed, KINDS[0])
        found.seconds = clock() - began
        if not going:
            return found
    if not found.unseen:
        found.outcome = "caught" if found.caught >= WANTED_SHARE * seeds else "weak"
    return found


def _tries(first_seed: int) -> Iterator[tuple[int, str]]:
    for seed in count(first_seed):
        for kinds in KINDS:
            yield seed, kinds
