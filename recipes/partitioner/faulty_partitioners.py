"""Partitioners with one known mistake each, which the harness must find."""

from collections.abc import Mapping
from typing import ClassVar

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.faulty_contests import PersistentNode
from rumpus.recipes.partitioner.member_partitioner import Part, Partitioner
from rumpus.recipes.requests.deadline import Deadline


class _NoLine(FairContest):
    """Whoever comes is first."""

    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        super()._ahead(entry, deadline)
        return []


class NoLockPartitioner(Partitioner):
    """It works out its share and takes it."""

    _contest = _NoLine
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "takes the share that its list of members gives it at once, although the list may be "
        "stale and others have not let go yet"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"shared-partition"})


class _Evicting(FairContest):
    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        ahead = super()._ahead(entry, deadline)
        for node in ahead:
            self._delete(entry, node, deadline)
        return []


class EvictingPartitioner(Partitioner):
    """It removes the nodes of those who are in its way."""

    _contest = _Evicting
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "removes the lock of the former owner instead of waiting for it: the owner goes on"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"shared-partition"})


class UnnoticedChangePartitioner(Partitioner):
    """It looks at the members when it takes its share, and not while it has it."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "looks at the members when it takes its share and never while it holds it: what is no "
        "longer its own is kept, and whoever came later waits for ever"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})

    @property
    def changed(self) -> bool:
        """Never."""
        return False


class PersistentNodePartitioner(Partitioner):
    """The locks of its parts are not ephemeral."""

    _contest = PersistentNode
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the locks of the parts are persistent: they outlive their owners"
    expected: ClassVar[frozenset[str]] = frozenset({"orphan-node", "deadlock"})


class CountsSharesPartitioner(Partitioner):
    """Its tokens are each member's own."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "a part's token is how often this member has taken a share"
    expected: ClassVar[frozenset[str]] = frozenset({"token-regression"})
    _shares = 0

    def acquire(self, timeout: float | None = None) -> bool:
        """Count, if the share is taken."""
        acquired = super().acquire(timeout)
        self._shares += acquired
        return acquired

    @property
    def parts(self) -> Mapping[str, Part]:
        """With the member's own number for a token."""
        return {name: part._replace(token=self._shares) for name, part in super().parts.items()}


class BelievesForGoodPartitioner(Partitioner):
    """Its members do not listen."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "goes on believing that it owns its share while suspended, and after LOST"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})

    @property
    def held(self) -> bool:
        """Whether a share was taken."""
        return self._agreed is not None


class NeverHeldPartitioner(Partitioner):
    """Its members do not know what they own."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "held is always false: a member does nothing with its share"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})

    @property
    def held(self) -> bool:
        """Never."""
        return False


class GivesUpPartitioner(Partitioner):
    """Out of time, it makes do with what it has."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "acquire says that the share is complete when its time is up, though others have not let "
        "go of parts of it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"partial-share"})

    def _give_up(self, members: list[str]) -> bool:
        """Call what it has its share."""
        self._agreed = members
        return True


class StaysListedPartitioner(Partitioner):
    """It leaves without a word."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "lets go of its share when it leaves, and stays on the list of members: nobody takes what "
        "it would get"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unowned-partition"})

    def _deregister(self, timeout: float | None) -> None:
        """Nothing: the mistake."""


class HalvesTimeoutPartitioner(Partitioner):
    """Its members give up too early."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for half of the time."""
        return super().acquire(None if timeout is None else timeout / 2)
