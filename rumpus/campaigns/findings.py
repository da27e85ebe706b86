"""What an exploration has found: failures are noted in the order of seeds, and told apart.

A failure is taken for one that was found before

1. if a person has said so, and never if a person has said the contrary (``campaigns.rulings``);
2. if one of its looks is alike in the signs of the cause (``results.likeness``), the likeliest one
   if there are several;
3. if a run shows both by the same call, or about the same znode as another kind of anomaly;
4. if the signs of one of them are not known, and kind and operations are the same, and the faults
   that the earlier one needs were there.

A flaw that shows in several ways has several *looks*. Each is told, with the reason. Two failures
that were found apart become one once `TOGETHER` runs have shown both in the third way.

Whoever notes the same runs in the same order gets the same findings: an exploration, and the
command that merges those of its parts.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from rumpus.campaigns.case import Case
from rumpus.campaigns.looks import (
    Failure,
    Look,
    beside,
    explains,
    look_of,
    looks_of_both,
    taken_for,
    with_look,
)
from rumpus.campaigns.rulings import Rulings
from rumpus.results.fingerprint import Fingerprint
from rumpus.results.likeness import likeness
from rumpus.results.traits import Traits

TOGETHER: Final = 2

DEATH = "ended-process"
"""The kind of failure of a run that ends its process."""


class Found(msgspec.Struct, kw_only=True):
    """A failure that an exploration has found.

    Attributes:
        case: the smallest run found that shows it; of the first run, before it is shrunk.
        failure: the first run's.
        operations: how many operations clients call in the case's run.
        runs: how many runs have shown it.
        shrunk: whether it was shrunk.
        shrinking_runs: how many runs that took.
        looks: the ways in which it shows, in the order in which they were seen.
        traits: the signs of its cause in the case's run, if it was shrunk: that may show another
            flaw than the run before did.
    """

    case: Case
    failure: Failure
    operations: int
    runs: int = 1
    shrunk: bool = False
    shrinking_runs: int = 0
    looks: tuple[Look, ...] = ()
    traits: Traits | None = None

    @property
    def seed(self) -> int:
        """The first seed that showed it."""
        return self.failure.seed

    @property
    def names(self) -> tuple[str, ...]:
        """By which rulings may name it."""
        fingerprints = [self.case.expects, *(look.fingerprint for look in self.looks)]
        return (self.case.name(), *map(str, fingerprints))

    def explains(self, failure: Failure) -> bool:
        """Whether a failure of a run is probably this one, by kind, operations and faults."""
        return explains(self.case.expects, failure)

    def add(self, failure: Failure, why: str) -> None:
        """Count a failure that was taken for this one; keep its look if it is a new one."""
        self.runs += 1
        self.looks = with_look(self.looks, failure, why)


class Death(msgspec.Struct, kw_only=True):
    """Runs that end their process in the same way.

    Attributes:
        seed: of the first one.
        how: ``SIGSEGV``, say.
        argv: the words of the command that performs it again; the first one is the program.
        clients: how many clients were asked for.
        trace: what Python has said about it, line by line; often nothing.
        runs: how many there were.
    """

    seed: int
    how: str
    argv: tuple[str, ...]
    clients: int
    trace: tuple[str, ...] = ()
    runs: int = 1


class Unperformed(msgspec.Struct, frozen=True, kw_only=True):
    """A run that could not be performed.

    Attributes:
        seed: the run's.
        why: in words.
        exit_code: what ``rumpus run`` would have exited with.
    """

    seed: int
    why: str
    exit_code: int


def _known_signs(found: Found, failure: Failure) -> bool:
    """Whether both can be compared by the signs of their causes."""
    return failure.traits is not None and found.failure.traits is not None


class Findings:
    """Failures, told apart.

    Args:
        known: failures that are accepted.
        rulings: what persons have decided.

    Attributes:
        failures: all of them, in order; without those that are accepted.
        taken: for each of these the number of the one in ``made`` with which it is counted.
        found: one for each that is different, in the order in which they were found.
        made: what became of each failure that was new, whether or not it was new once shrunk.
        deaths: runs that end their process, one for each way.
        accepted: how many failures were known.
    """

    def __init__(self, known: Sequence[Fingerprint] = (), rulings: Rulings | None = None) -> None:
        self.failures: list[Failure] = []
        self.taken: list[int] = []
        self.found: list[Found] = []
        self.made: list[Found] = []
        self.deaths: list[Death] = []
        self.accepted = 0
        self._known = known
        self._rulings = rulings or Rulings()
        self._numbers: list[int] = []  # of each that was found: its number in ``made``
        self._seed: int | None = None
        self._of_seed: dict[str, Found] = {}
        self._together: Counter[frozenset[int]] = Counter()  # of two, by their numbers: runs

    def note(self, failure: Failure, make: Callable[[], Found]) -> None:
        """Note a failure.

        Args:
            failure: of a run that comes after those noted before.
            make: makes a case of it, perhaps a small one; called if it is new.
        """
        if any(explains(known, failure) for known in self._known):
            self.accepted += 1
            return
        self.failures.append(failure)
        if failure.seed != self._seed:
            self._seed, self._of_seed = failure.seed, {}
        found, why = self._taken(failure)
        if found is None:
            made = make()
            self.made.append(made)
            found, why = self._same_when_made(made), "its case shows the same"
            if found is None:
                found = self._enter(made, failure)
        found.add(failure, why)
        self.taken.append(self._number(found))
        self._of_seed[look_of(failure.fingerprint)] = found
        self._join(found, failure)

    def _number(self, found: Found) -> int:
        return self._numbers[next(n for n, each in enumerate(self.found) if each is found)]

    def _join(self, found: Found, failure: Failure) -> None:
        """Make one of those that were found apart, once enough runs show both together."""
        for other, why in list(self._beside(failure)):
            if other is found or not any(other is each for each in self.found):
                continue
            if self._rulings.apart and self._rulings.splits(other.names, found.names):
                continue
            numbers = frozenset({self._number(found), self._number(other)})
            self._together[numbers] += 1
            if self._together[numbers] >= TOGETHER:
                found = self._joined(found, other, why)

    def _joined(self, one: Found, other: Found, why: str) -> Found:
        """The first of two, which is both from now on."""
        first, last = sorted((one, other), key=self._number)
        first.runs += last.runs
        told = f"{why}, in {TOGETHER} runs"
        first.looks = looks_of_both(first.looks, last.looks, told)
        kept, gone = self._number(first), self._number(last)
        self.taken = [kept if number == gone else number for number in self.taken]
        place = next(n for n, each in enumerate(self.found) if each is last)
        del self.found[place], self._numbers[place]
        for look, found in self._of_seed.items():
            if found is last:
                self._of_seed[look] = first
        return first

    def _enter(self, made: Found, failure: Failure) -> Found:
        """Enter one that is new. What was made may be noted again, with other parts."""
        look = Look(fingerprint=failure.fingerprint, traits=failure.traits)
        found = msgspec.structs.replace(made, failure=failure, runs=0, looks=(look,))
        self.found.append(found)
        self._numbers.append(len(self.made) - 1)
        return found

    def _taken(self, failure: Failure) -> tuple[Found | None, str]:
        """The one that a failure is taken for, and why; None if it is a new one."""
        names = (str(failure.fingerprint),)
        others = self.found
        if self._rulings.one or self._rulings.apart:
            for found in self.found:
                if why := self._rulings.merges(found.names, names):
                    return found, f"by a ruling: {why}"
            others = [each for each in self.found if not self._rulings.splits(each.names, names)]
        alike = [(taken_for(each.looks, failure), each) for each in others]
        likely = [(taken.odds, taken.why, each) for taken, each in alike if taken is not None]
        if likely:
            _, why, found = max(likely, key=lambda each: each[0])
            return found, why
        for found, why in self._beside(failure):
            if any(found is each for each in others):
                return found, why
        for found in others:
            if found.explains(failure) and not _known_signs(found, failure):
                return found, "same kind and operations, after the faults that it needs"
        return None, ""

    def _beside(self, failure: Failure) -> Iterator[tuple[Found, str]]:
        """What else the run has shown that belongs to a failure, and why."""
        for look, why in beside(failure):
            if look in self._of_seed:
                yield self._of_seed[look], why

    def _same_when_made(self, made: Found) -> Found | None:
        """One with the same case as what was made of another, and like it; None without."""
        for found in self.found:
            if found.case.expects != made.case.expects:
                continue
            if made.traits is None or found.traits is None:
                if made.shrunk or not _known_signs(found, made.failure):
                    return found
            elif likeness(made.traits, found.traits).one:
                return found
        return None

    def note_death(self, death: Death) -> None:
        """Note runs that end their process."""
        for noted in self.deaths:
            if noted.how == death.how:
                noted.runs += death.runs
                return
        self.deaths.append(msgspec.structs.replace(death))
