"""Partitioners with one known mistake each, which the harness must find."""

import time
from collections.abc import Mapping

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.faulty_calls import REST_S
from rumpus.recipes.mistake import given, made
from rumpus.recipes.partitioner.kazoo_partitioner import KazooPartitioner
from rumpus.recipes.partitioner.member_partitioner import Part, Partitioner
from rumpus.recipes.requests.deadline import Deadline


def _nodes(partitioner: Partitioner) -> list[str | None]:
    return [part.node for part in partitioner.parts.values()]


class NoLine(FairContest):
    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        ahead = super()._ahead(entry, deadline)
        if ahead:
            made(entry.node, *ahead)
        return []


class Evicting(FairContest):
    def _ahead(self, entry: Entry, deadline: Deadline) -> list[str]:
        ahead = super()._ahead(entry, deadline)
        for node in ahead:
            made(node)
            self._delete(entry, node, deadline)
        return []


class UnnoticedChangePartitioner(Partitioner):
    @property
    def changed(self) -> bool:
        return given(False, super().changed, *self._members.watch().addresses)


class CountsSharesPartitioner(Partitioner):
    _shares = 0

    def acquire(self, timeout: float | None = None) -> bool:
        acquired = super().acquire(timeout)
        self._shares += acquired
        if acquired:
            made(*_nodes(self))
        return acquired

    @property
    def parts(self) -> Mapping[str, Part]:
        return {name: part._replace(token=self._shares) for name, part in super().parts.items()}


class RestsAfterTimeoutPartitioner(Partitioner):
    def _give_up(self, members: list[str]) -> bool:
        made(own=True)
        time.sleep(REST_S)
        return super()._give_up(members)


class BelievesForGoodPartitioner(Partitioner):
    @property
    def held(self) -> bool:
        return given(self._agreed is not None, super().held, *_nodes(self))


class NeverHeldPartitioner(Partitioner):
    @property
    def held(self) -> bool:
        return given(False, super().held, *_nodes(self))


class GivesUpPartitioner(Partitioner):
    def _give_up(self, members: list[str]) -> bool:
        made()
        self._agreed = members
        return True


class StaysListedPartitioner(Partitioner):
    def _deregister(self, timeout: float | None) -> None:
        """Nothing: the mistake."""
        made(self._member)


class HastyKazooPartitioner(KazooPartitioner):
    _boundary = 0.0

    def acquire(self, timeout: float | None = None) -> bool:
        acquired = super().acquire(timeout)
        if acquired:
            made(*(part.node for part in self.parts.values()))
        return acquired
