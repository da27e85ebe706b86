"""The hunt for one mutant: simulated runs, seed after seed, until its mistake shows.

``hunt`` asks whether a mutant is caught at all, within a budget; ``survey`` asks how often, over a
fixed number of seeds. Either way every anomaly that is expected of the mutant has to be reported
as a broken promise: one anomaly that is found proves nothing about the checks for the others.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Literal, NamedTuple

from rumpus.checker.verdict import Blamed
from rumpus.results.escapes import in_shell

KINDS = ("default", "all")
"""The faults of a hunt's runs: each seed is run with ``--nemesis``'s default, then with ``all``."""

WANTED_SHARE = Fraction(4, 5)
"""The least share of a survey's seeds with which a mutant has to be caught."""


@dataclass(frozen=True)
class Mutant:
    """A recipe, or a server, with a known mistake.

    Args:
        family: the workload that shows the mistake.
        name: the mutant's name.
        expected: the anomalies by which its mistake has to show.
        recipe: for a mutant server, the sound recipe that is run on it; None for a recipe that is
            itself the mutant.
        options: further options of ``rumpus run``.
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
        """The command-line arguments of one run of it."""
        words = ["run", self.family, "--recipe", self.recipe or self.name, "--ensemble", "sim"]
        if self.recipe is not None:
            words += ["--server-mutant", self.name]
        words += [*self.options, "--seed", str(seed)]
        return words if kinds == "default" else [*words, "--nemesis", kinds]


class Told(NamedTuple):
    """The result of a run.

    ``exit_code`` is that of ``rumpus run``, ``broken`` the kinds of anomaly that broke a promise,
    ``blamed`` whose promise it was, ``words`` the end of the error output of a run that could not
    be performed.
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
        outcome: ``caught``: every expected anomaly was seen as a broken promise, and in a survey
            at least one of them in `WANTED_SHARE` of the runs. ``weak``: every expected anomaly
            was seen, but in too few runs of a survey. ``missed``: an expected anomaly was never
            seen. ``failed``: a run could not be performed.
        anomalies: the broken promises of all runs, and in how many runs each was seen.
        runs: the number of runs performed.
        caught: the number of runs that were violations by an expected anomaly.
        seconds: the time taken, by the clock.
        command: repeats the first violation by an expected anomaly; empty if there was none.
        words: the reason of a failure.
        exit_code: of the run that failed; 0 if none did.
    """

    mutant: Mutant
    outcome: Literal["caught", "weak", "missed", "failed"] = "missed"
    anomalies: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    caught: int = 0
    seconds: float = 0.0
    command: str = ""
    words: str = ""
    exit_code: int = 0

    @property
    def unseen(self) -> frozenset[str]:
        """Expected anomalies that were seen in no run."""
        return self.mutant.expected - set(self.anomalies)

    def note(self, told: Told, seed: int, kinds: str) -> bool:
        """Enter the result of a run; whether the hunt can go on."""
        self.runs += 1
        if told.exit_code not in (0, 1, 3):
            self.outcome, self.words = "failed", told.words
            self.exit_code = told.exit_code
            return False
        if told.blamed != self.mutant.blamed:
            return True  # a promise that somebody else broke proves nothing
        self.anomalies.update(told.broken)
        if told.exit_code == 1 and told.broken & self.mutant.expected:
            self.caught += 1
            self.command = self.command or in_shell(["rumpus", *self.mutant.words(seed, kinds)])
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
    """Perform runs of a mutant until all of its expected anomalies have been seen.

    Args:
        mutant: the mutant.
        perform: performs a run.
        budget: seconds after which no further run begins; the first run always does.
        first_seed: the first seed; the others count up from it.
        clock: seconds, monotonic.
    """
    found = Hunt(mutant)
    for _ in _runs(found, perform, _tries(first_seed), clock):
        if not found.unseen:
            found.outcome = "caught"
            break
        if found.seconds >= budget:
            break
    return found


def survey(
    mutant: Mutant,
    perform: Perform,
    *,
    seeds: int,
    first_seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Hunt:
    """Perform runs of a mutant under the default faults, one for each of a number of seeds."""
    found = Hunt(mutant)
    tries = ((seed, KINDS[0]) for seed in range(first_seed, first_seed + seeds))
    for _ in _runs(found, perform, tries, clock):
        pass
    if found.outcome != "failed" and not found.unseen:
        found.outcome = "caught" if found.caught >= WANTED_SHARE * seeds else "weak"
    return found


def _runs(
    found: Hunt, perform: Perform, tries: Iterable[tuple[int, str]], clock: Callable[[], float]
) -> Iterator[None]:
    """Perform runs with these seeds and faults, up to one that fails; yields after each other."""
    began = clock()
    for seed, kinds in tries:
        going = found.note(perform(found.mutant, seed, kinds), seed, kinds)
        found.seconds = clock() - began
        if not going:
            return
        yield


def _tries(first_seed: int) -> Iterator[tuple[int, str]]:
    for seed in count(first_seed):
        for kinds in KINDS:
            yield seed, kinds
