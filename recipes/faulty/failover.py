"""Databases with one known mistake each in how their primary fails over."""

from typing import ClassVar

from recipes.deadline import Deadline
from recipes.election import ContestElection, FairElection
from recipes.failover import FailoverDatabase
from recipes.faulty.locks import NoRecheckLock
from recipes.primary_term import PrimaryTerm
from recipes.replicated_log import Entry, ReplicatedLog


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
    mistake: ClassVar[str] = (
        "replicas do not compare epochs: a deposed primary goes on shipping, and they take it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"lost-write", "stale-action"})


class NoCatchUp(FailoverDatabase):
    """Its new primary takes its own log for the best."""

    term: ClassVar[type[PrimaryTerm]] = _NoCatchUp
    faulty: ClassVar[bool] = True
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
