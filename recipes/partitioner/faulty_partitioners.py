"""Partitioners with one known mistake each, which the harness must find."""

from collections.abc import Mapping

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.partitioner.member_partitioner import Part, Partitioner
from rumpus.recipes.requests.deadline import Deadline


class NoLine(FairContest):
    """Whoever comes is first."""

    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        super()._ahead(entry, deadline)
        return []


class Evicting(FairContest):
    """It removes the nodes of those who are in its way."""

    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        ahead = super()._ahead(entry, deadline)
        for node in ahead:
            self._delete(entry, node, deadline)
        return []


class UnnoticedChangePartitioner(Partitioner):
    """It looks at the members when it takes its share, and not while it has it."""

    @property
    def changed(self) -> bool:
        """Never."""
        return False


class CountsSharesPartitioner(Partitioner):
    """Its tokens are each member's own."""

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

    @property
    def held(self) -> bool:
        """Whether a share was taken."""
        return self._agreed is not None


class NeverHeldPartitioner(Partitioner):
    """Its members do not know what they own."""

    @property
    def held(self) -> bool:
        """Never."""
        return False


class GivesUpPartitioner(Partitioner):
    """Out of time, it makes do with what it has."""

    def _give_up(self, members: list[str]) -> bool:
        """Call what it has its share."""
        self._agreed = members
        return True


class StaysListedPartitioner(Partitioner):
    """It leaves without a word."""

    def _deregister(self, timeout: float | None) -> None:
        """Nothing: the mistake."""


class HalvesTimeoutPartitioner(Partitioner):
    """Its members give up too early."""

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for half of the time."""
        return super().acquire(None if timeout is None else timeout / 2)
