"""Partitioners with one known mistake each, which the harness must find."""

from collections.abc import Mapping

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.partitioner.member_partitioner import Part, Partitioner
from rumpus.recipes.requests.deadline import Deadline


class NoLine(FairContest):
    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        super()._ahead(entry, deadline)
        return []


class Evicting(FairContest):
    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        ahead = super()._ahead(entry, deadline)
        for node in ahead:
            self._delete(entry, node, deadline)
        return []


class UnnoticedChangePartitioner(Partitioner):
    @property
    def changed(self) -> bool:
        return False


class CountsSharesPartitioner(Partitioner):
    _shares = 0

    def acquire(self, timeout: float | None = None) -> bool:
        acquired = super().acquire(timeout)
        self._shares += acquired
        return acquired

    @property
    def parts(self) -> Mapping[str, Part]:
        return {name: part._replace(token=self._shares) for name, part in super().parts.items()}


class BelievesForGoodPartitioner(Partitioner):
    @property
    def held(self) -> bool:
        return self._agreed is not None


class NeverHeldPartitioner(Partitioner):
    @property
    def held(self) -> bool:
        return False


class GivesUpPartitioner(Partitioner):
    def _give_up(self, members: list[str]) -> bool:
        self._agreed = members
        return True


class StaysListedPartitioner(Partitioner):
    def _deregister(self, timeout: float | None) -> None:
        """Nothing: the mistake."""
