"""The hunt for one mutant: simulated runs, seed after seed, until its mistake shows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Literal, NamedTuple

KINDS = ("default", "all")
"""What runs are troubled by, in turn: the faults of every world, and those of simulated ones."""


@dataclass(frozen=True)
class Mutant:
    """A recipe with a known mistake: where it is found, and what must give it away."""

    family: str
    name: str
    expected: frozenset[str]

    def words(self, seed: int, kinds: str) -> list[str]:
        """What ``rumpus`` is told to perform one run of it."""
        words = ["run", self.family, "--recipe", self.name, "--ensemble", "sim"]
        words += ["--seed", str(seed)]
        return words if kinds == "default" else [*words, "--nemesis", kinds]


class Told(NamedTuple):
    """What a run told.

    ``exit_code`` is that of ``rumpus run``, ``broken`` the kinds of anomaly that broke a promise,
    ``words`` the last words of a run that could not be performed.
    """

    exit_code: int
    broken: frozenset[str] = frozenset()
    words: str = ""


@dataclass
class Hunt:
    """How a hunt ended.

    Attributes:
        mutant: whose.
        outcome: ``caught``: a run was a violation, by an anomaly that was expected; ``missed``:
            none was before the time was up; ``failed``: a run could not be performed.
        anomalies: the broken promises of the run that caught it; else all that were seen.
        runs: how many were performed.
        seconds: how long it took, of the clock.
        command: what shows it again; empty unless caught.
        words: why it failed.
    """

    mutant: Mutant
    outcome: Literal["caught", "missed", "failed"] = "missed"
    anomalies: set[str] = field(default_factory=set)
    runs: int = 0
    seconds: float = 0.0
    command: str = ""
    words: str = ""


def hunt(
    mutant: Mutant,
    perform: Callable[[Mutant, int, str], Told],
    *,
    budget: float,
    first_seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Hunt:
    """Perform runs of a mutant until one gives it away.

    Args:
        mutant: whom to hunt.
        perform: performs one run with a seed, under the faults of one of ``KINDS``.
        budget: seconds; no run begins when they are spent. The first always does.
        first_seed: the seeds count up from it.
        clock: seconds, monotonic.
    """
    began = clock()
    found = Hunt(mutant)
    for seed, kinds in _tries(first_seed):
        told = perform(mutant, seed, kinds)
        found.runs += 1
        found.seconds = clock() - began
        found.anomalies |= told.broken
        if told.exit_code == 1 and told.broken & mutant.expected:
            found.outcome, found.anomalies = "caught", set(told.broken)
            found.command = " ".join(["rumpus", *mutant.words(seed, kinds)])
            return found
        if told.exit_code not in (0, 1, 3):
            found.outcome, found.words = "failed", told.words
            return found
        if found.seconds >= budget:
            return found
    raise AssertionError("seeds do not end")


def _tries(first_seed: int) -> Iterator[tuple[int, str]]:
    for seed in count(first_seed):
        for kinds in KINDS:
            yield seed, kinds
