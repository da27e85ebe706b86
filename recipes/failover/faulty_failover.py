"""Databases with one known mistake each in how their primary fails over."""

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from rumpus.recipes.election.contest_election import ContestElection, FairElection
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.failover.primary_term import PrimaryTerm
from rumpus.recipes.failover.replicated_log import Entry, ReplicatedLog
from rumpus.recipes.lock.faulty_locks import NoRecheckLock, PersistentNodeLock
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.json_lines import Address

CACHED_S = 1.0
"""For so long a cached answer is given."""


class _AcknowledgesFirst(PrimaryTerm):
    def _acknowledged(self, _at: int, _deadline: Deadline) -> bool:
        return True


class _NoEpochCheck(ReplicatedLog):
    def refuses(self, _epoch: int) -> bool:
        return False


class _NoCatchUp(PrimaryTerm):
    def _best(self) -> list[Entry]:
        return list(self._log.entries)


class _NoRecheckElection(FairElection):
    contest = NoRecheckLock.contest


class _ReadsCached(PrimaryTerm):
    _cached: tuple[float, list[Any]] | None = None

    def read(self, deadline: Deadline) -> list[Any] | None:
        now = time.monotonic()
        if self._cached is None or now - self._cached[0] > CACHED_S:
            values = super().read(deadline)
            if values is None:
                return None
            self._cached = (now, values)
        return self._cached[1]


class _ReadsMarks(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        return None if values is None else [*values, -self.epoch]


class _RepeatsTail(PrimaryTerm):
    def _begin_if_promised(self) -> None:
        begun = self._begun
        super()._begin_if_promised()
        if begun is None and self._begun:
            _, last = self._log.entries[self._begun - 1]
            self._log.append(self.epoch, [last])


class _ReadsSorted(PrimaryTerm):
    def read(self, deadline: Deadline) -> list[Any] | None:
        values = super().read(deadline)
        return None if values is None else sorted(values)


class _RemembersAddresses(PrimaryTerm):
    remembered: dict[str, Address]

    def find(self, name: str, address: Address) -> None:
        super().find(name, self.remembered.setdefault(name, address))


class _PersistentElection(FairElection):
    contest = PersistentNodeLock.contest


class AcknowledgesFirst(FailoverDatabase):
    """It says yes as soon as its own disk does."""

    term: ClassVar[type[PrimaryTerm]] = _AcknowledgesFirst
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "acknowledges a write before its replicas have it (asynchronous replication)"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write", "stale-action"})


class NoEpochCheck(FailoverDatabase):
    """Its replicas obey whoever ships to them."""

    log: ClassVar[type[ReplicatedLog]] = _NoEpochCheck
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 4.2"
    mistake: ClassVar[str] = (
        "replicas do not compare epochs: a deposed primary goes on shipping, and they take it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write", "stale-action"})


class NoCatchUp(FailoverDatabase):
    """Its new primary takes its own log for the best."""

    term: ClassVar[type[PrimaryTerm]] = _NoCatchUp
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 4.2"
    mistake: ClassVar[str] = (
        "a new primary serves from its own log, without taking the best one of a majority first"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write"})


class ShrinkingQuorum(FailoverDatabase):
    """It keeps going at any price."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "while its session is in doubt a primary is content with its own copy, to stay available"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write", "stale-action"})

    def _quorum(self) -> int:
        return super()._quorum() if self._election.leading else 1


class BelievesTheNext(FailoverDatabase):
    """Its election does not look again."""

    election: ClassVar[type[ContestElection]] = _NoRecheckElection
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a candidate takes the role when the one before it vanishes, without looking whether it "
        "is first: fencing keeps the data safe, but two are the primary at once"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class RepeatsTail(FailoverDatabase):
    """Its new primary writes its predecessor's last entry again."""

    term: ClassVar[type[PrimaryTerm]] = _RepeatsTail
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a new primary may not count the copies of an older epoch's entry, so it writes the last "
        "one again under its own epoch, instead of an empty entry that takes it along"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"duplicate-element"})


class ReadsMarks(FailoverDatabase):
    """It shows what is none of the users' business."""

    term: ClassVar[type[PrimaryTerm]] = _ReadsMarks
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "hands out its own marks of terms as if users had written them"
    expected: ClassVar[frozenset[str]] = frozenset({"phantom-element"})


class ReadsCached(FailoverDatabase):
    """It reads from a cache."""

    term: ClassVar[type[PrimaryTerm]] = _ReadsCached
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "answers reads by what it read a moment ago, whatever came since"
    expected: ClassVar[frozenset[str]] = frozenset({"not-linearizable"})


class ReadsSorted(FailoverDatabase):
    """It keeps no order."""

    term: ClassVar[type[PrimaryTerm]] = _ReadsSorted
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "hands out what was written sorted by value, as a map would"
    expected: ClassVar[frozenset[str]] = frozenset({"out-of-order"})


class RemembersAddresses(FailoverDatabase):
    """It looks up each replica once."""

    term: ClassVar[type[PrimaryTerm]] = _RemembersAddresses
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "keeps the address at which it first found a member for ever: one that was started again "
        "elsewhere gets nothing any more"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})

    def _begin(self) -> PrimaryTerm | None:
        term = super()._begin()
        if isinstance(term, _RemembersAddresses):
            term.remembered = self._remembered
        return term

    @cached_property
    def _remembered(self) -> dict[str, Address]:
        return {}


class PersistentCandidates(FailoverDatabase):
    """Its candidates stay in line."""

    election: ClassVar[type[ContestElection]] = _PersistentElection
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "candidates are persistent nodes: a primary that died stays the first"
    expected: ClassVar[frozenset[str]] = frozenset({"leaderless"})


class NeverStepsDown(FailoverDatabase):
    """Once the primary, always the primary."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "remembers that it was appointed, and never that it is no more: it believes on after its "
        "session has expired and after another was appointed"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder", "split-brain"})
    _appointed = False

    def remaining(self) -> float:
        """For ever, from the first time on."""
        self._appointed = self._appointed or super().remaining() > 0
        return 1.0 if self._appointed else 0.0


class _ReadsUnconfirmed(PrimaryTerm):
    def read(self, _deadline: Deadline) -> list[Any] | None:
        values = self._log.entries[: self._committed]
        return [value for _, value in values if value is not None]


class _NeverTruncates(ReplicatedLog):
    def _put(self, at: int, entries: Sequence[Entry]) -> None:
        there = len(self.entries)
        super()._put(max(at, there), entries[max(0, there - at) :])


class HalfQuorum(FailoverDatabase):
    """Half of it is enough for it."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "counts half of the members, rounded down, for a majority: two of five have a write, and "
        "two others can begin without it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write"})

    def _quorum(self) -> int:
        return self._members // 2


class ReadsUnconfirmed(FailoverDatabase):
    """It believes itself."""

    term: ClassVar[type[PrimaryTerm]] = _ReadsUnconfirmed
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "answers reads without asking a majority whether a later primary has begun"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write", "not-linearizable"})


class NeverTruncates(FailoverDatabase):
    """It keeps what it has."""

    log: ClassVar[type[ReplicatedLog]] = _NeverTruncates
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a replica keeps entries that contradict the primary's, and takes only what comes after"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write"})
