"""Databases with one known mistake each in how their primary fails over."""

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.primary_term import PrimaryTerm
from rumpus.recipes.failover.replicated_log import Entry, ReplicatedLog
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address

CACHED_S = 1.0
"""Seconds for which ``ReadsCached`` repeats an answer."""


class AcknowledgesFirst(PrimaryTerm):
    def _acknowledged(self, _at: int, _deadline: Deadline) -> bool:
        return True


class NoEpochCheck(ReplicatedLog):
    def refuses(self, _epoch: int) -> bool:
        return False


class NoCatchUp(PrimaryTerm):
    def _best(self) -> list[Entry]:
        return list(self._log.entries)


class ReadsCached(PrimaryTerm):
    _cached: tuple[float, list[Any]] | None = None

    def read(self, deadline: Deadline) -> list[Any] | None:
        now = time.monotonic()
        if self._cached is None or now - self._cached[0] > CACHED_S:
            values = super().read(deadline)
            if values is None:
                return None
            self._cached = (now, values)
        return self._cached[1]


class ReadsMarks(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        return None if values is None else [*values, -self.epoch]


class RepeatsTail(PrimaryTerm):
    def _begin_if_promised(self) -> None:
        begun = self._begun
        super()._begin_if_promised()
        if begun is None and self._begun:
            _, last = self._log.entries[self._begun - 1]
            self._log.append(self.epoch, [last])


class ReadsSorted(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        return None if values is None else sorted(values, key=str)


class _RemembersAddresses(PrimaryTerm):
    remembered: dict[str, Address]

    def find(self, name: str, address: Address) -> None:
        super().find(name, self.remembered.setdefault(name, address))


class ShrinkingQuorum(FailoverDatabase):
    def _quorum(self) -> int:
        return super()._quorum() if self._election.leading else 1


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

    def remaining(self) -> float:
        self._appointed = self._appointed or super().remaining() > 0
        return 1.0 if self._appointed else 0.0


class ReadsUnconfirmed(PrimaryTerm):
    def read(self, _deadline: Deadline) -> list[Any] | None:
        values = self._log.entries[: self._committed]
        return [value for _, value in values if value is not None]


class NeverTruncates(ReplicatedLog):
    def _put(self, at: int, entries: Sequence[Entry]) -> None:
        there = len(self.entries)
        super()._put(max(at, there), entries[max(0, there - at) :])


class HalfQuorum(FailoverDatabase):
    def _quorum(self) -> int:
        return self._members // 2
