"""Databases with one known mistake each in how their primary fails over."""

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.primary_term import PrimaryTerm
from rumpus.recipes.failover.replicated_log import Entry, ReplicatedLog
from rumpus.recipes.mistake import given, made
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address

CACHED_S = 1.0
"""Seconds for which ``ReadsCached`` repeats an answer."""


class AcknowledgesFirst(PrimaryTerm):
    def _acknowledged(self, at: int, _deadline: Deadline) -> bool:
        if self._committed <= at:
            made(self._log.entries[at][1])
        return True


class NoEpochCheck(ReplicatedLog):
    def refuses(self, epoch: int) -> bool:
        if super().refuses(epoch):
            made(epoch)
        return False


class NoCatchUp(PrimaryTerm):
    def _best(self) -> list[Entry]:
        own = list(self._log.entries)
        if own != super()._best():
            made(self.epoch)
        return own


class ReadsCached(PrimaryTerm):
    _cached: tuple[float, list[Any]] | None = None

    def read(self, deadline: Deadline) -> list[Any] | None:
        now = time.monotonic()
        if self._cached is None or now - self._cached[0] > CACHED_S:
            values = super().read(deadline)
            if values is None:
                return None
            self._cached = (now, values)
        elif self._cached[1] != self._values():
            made()
        return self._cached[1]

    def _values(self) -> list[Any]:
        entries = self._log.entries[: self._committed]
        return [value for _, value in entries if value is not None]


class ReadsMarks(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        if values is None:
            return None
        made(-self.epoch)
        return [*values, -self.epoch]


class RepeatsTail(PrimaryTerm):
    def _begin_if_promised(self) -> None:
        begun = self._begun
        super()._begin_if_promised()
        if begun is None and self._begun:
            _, last = self._log.entries[self._begun - 1]
            made(last)
            self._log.append(self.epoch, [last])


class ReadsSorted(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        return None if values is None else given(sorted(values, key=str), values)


class _RemembersAddresses(PrimaryTerm):
    remembered: dict[str, Address]

    def find(self, name: str, address: Address) -> None:
        first = self.remembered.setdefault(name, address)
        super().find(name, given(first, address, name, address))


class ShrinkingQuorum(FailoverDatabase):
    def _quorum(self) -> int:
        quorum = super()._quorum()
        if self._election.leading:
            return quorum
        made(self._log.promised)
        return 1


class RemembersAddresses(FailoverDatabase):
    _term_class: ClassVar[type[PrimaryTerm]] = _RemembersAddresses

    def _begin(self) -> PrimaryTerm | None:
        term = super()._begin()
        if isinstance(term, _RemembersAddresses):
            term.remembered = self._remembered
        return term

    @cached_property
    def _remembered(self) -> dict[str, Address]:
        return {}


class NeverStepsDown(FailoverDatabase):
    _appointed = False
    _epoch = 0

    def remaining(self) -> float:
        sound = super().remaining
        if not self._appointed:
            self._appointed, self._epoch = sound() > 0, self._log.promised
        else:
            made(self._epoch, lasting=True, unless=lambda: sound() > 0)
        return 1.0 if self._appointed else 0.0


class ReadsUnconfirmed(PrimaryTerm):
    def read(self, _deadline: Deadline) -> list[Any] | None:
        made()
        values = self._log.entries[: self._committed]
        return [value for _, value in values if value is not None]


class NeverTruncates(ReplicatedLog):
    def _put(self, at: int, entries: Sequence[Entry]) -> None:
        there = len(self.entries)
        if entries and at < there:
            made()
        super()._put(max(at, there), entries[max(0, there - at) :])


class HalfQuorum(FailoverDatabase):
    def _quorum(self) -> int:
        made(self._log.promised)
        return self._members // 2
