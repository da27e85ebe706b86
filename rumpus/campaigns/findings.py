"""What an exploration has found: failures are noted in the order of seeds, and told apart.

Whoever notes the same runs in the same order gets the same findings: an exploration, and the
command that merges those of its parts.
"""

from collections.abc import Callable, Sequence

import msgspec

from rumpus.campaigns.case import Case
from rumpus.results.fingerprint import Fingerprint

DEATH = "ended-process"
"""The kind of failure of a run that ends its process."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A broken promise of a run.

    Attributes:
        seed: the run's.
        fingerprint: of the anomaly, before it is shrunk.
        kinds: the kinds of fault of the run, each once.
    """

    seed: int
    fingerprint: Fingerprint
    kinds: tuple[str, ...]


class Found(msgspec.Struct, kw_only=True):
    """A failure that an exploration has found.

    Attributes:
        case: the smallest run found that shows it; of the first run, before it is shrunk.
        failure: the first run's.
        operations: how many operations clients call in the case's run.
        runs: how many runs have shown it.
        shrunk: whether it was shrunk.
        shrinking_runs: how many runs that took.
    """

    case: Case
    failure: Failure
    operations: int
    runs: int = 1
    shrunk: bool = False
    shrinking_runs: int = 0

    @property
    def seed(self) -> int:
        """The first seed that showed it."""
        return self.failure.seed

    def explains(self, failure: Failure) -> bool:
        """Whether a failure of a run is probably this one."""
        return explains(self.case.expects, failure)


def explains(known: Fingerprint, failure: Failure) -> bool:
    """Whether a known failure explains one of a run: same anomaly, and its faults were there.

    Args:
        known: the failure that is known, with the faults that it needs.
        failure: of a run.
    """
    return known.resembles(failure.fingerprint) and set(known.faults) <= set(failure.kinds)


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


class Findings:
    """Failures, told apart.

    Args:
        known: failures that are accepted.

    Attributes:
        failures: all of them, in order; without those that are accepted.
        found: one for each that is different, in the order in which they were found.
        made: what became of each failure that was new, whether or not it was new once shrunk.
        deaths: runs that end their process, one for each way.
        accepted: how many failures were known.
    """

    def __init__(self, known: Sequence[Fingerprint] = ()) -> None:
        self.failures: list[Failure] = []
        self.found: list[Found] = []
        self.made: list[Found] = []
        self.deaths: list[Death] = []
        self.accepted = 0
        self._known = known

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
        for found in self.found:
            if found.explains(failure):
                found.runs += 1
                return
        made = make()
        self.made.append(made)
        for found in self.found:
            if found.case.expects == made.case.expects:
                found.runs += 1
                return
        # Counted here: what was made may be noted again, with other parts of an exploration.
        self.found.append(msgspec.structs.replace(made, failure=failure, runs=1))

    def note_death(self, death: Death) -> None:
        """Note runs that end their process."""
        for noted in self.deaths:
            if noted.how == death.how:
                noted.runs += death.runs
                return
        self.deaths.append(msgspec.structs.replace(death))
