"""Partitioners with one known mistake each, which the harness must find."""

from typing import ClassVar

from recipes.contest import Entry
from recipes.deadline import Deadline
from recipes.fair_contest import FairContest
from recipes.partitioner import Partitioner


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
    expected: ClassVar[frozenset[str]] = frozenset(
        {"unowned-partition", "stuck-waiter", "deadlock"}
    )

    @property
    def changed(self) -> bool:
        """Never."""
        return False
