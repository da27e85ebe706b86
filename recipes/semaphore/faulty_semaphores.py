"""Semaphores with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import NoNodeError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.faulty_contenders import (
    BelievesForGood,
    HalvesTimeout,
    IgnoresTimeout,
    NeverBelieves,
)
from rumpus.recipes.contests.faulty_contests import SortsByName
from rumpus.recipes.promises import Line
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.semaphore.contest_semaphore import Semaphore, SemaphoreContest


class _CountsAll(SemaphoreContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        standing = self._standing(entry, deadline)
        if len(standing) <= self._permits:
            return True
        if not deadline.passed:
            others = [node for node in standing if node != entry.node]
            self._await(others, entry, deadline)
        return False

    def _standing(self, entry: Entry, deadline: Deadline) -> list[str]:
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        return [f"{self._path}/{child}" for child in children]


class _CountsFirst(SemaphoreContest):
    @classmethod
    def line(cls, path: str) -> Line:
        return Line(kind="pool", path=path)

    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None and entry.tried:
            entry.node = self._find(entry, deadline)
        if entry.node is not None:
            return True
        self._ensure_parent(entry, self._path, deadline)
        leases = entry.session.ask(deadline, self._client.get_children_async, self._path)
        if len(leases) < self._permits:
            self._enter(entry, deadline)
            return True
        if not deadline.passed:
            self._await([f"{self._path}/{lease}" for lease in leases], entry, deadline)
        return False


class _WatchesOne(SemaphoreContest):
    def _watched(self, blocking: list[str]) -> list[str]:
        return [blocking[-self._permits]]


class _NoLookup(SemaphoreContest):
    def _find(self, _entry: Entry, _deadline: Deadline) -> str | None:
        return None


class _ReleaseByPlace(SemaphoreContest):
    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None:
            return super()._take_out(entry, deadline)
        children = entry.session.ask(deadline, self._client.get_children_async, self._path)
        try:
            first = min(children, key=lambda child: int(child[-10:]))
        except ValueError as error:
            raise NoNodeError(self._path) from error
        return self._delete(entry, f"{self._path}/{first}", deadline)


class _SortsByName(SortsByName, SemaphoreContest):
    """Whoever is among the first by name."""


class CountsAllSemaphore(Semaphore):
    """It counts those behind it, too."""

    contest = _CountsAll
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "counts the nodes instead of looking at its place among them: with more who want in than "
        "may, all wait for each other, though permits are free"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter", "herd"})


class CountsFirstSemaphore(Semaphore):
    """It counts, and then creates."""

    contest = _CountsFirst
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "counts the leases and creates its own if there are few enough: others who have counted "
        "at the same time do so too"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"double-grant", "split-brain"})


class WatchesOneSemaphore(Semaphore):
    """It waits for one of the holders only."""

    contest = _WatchesOne
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "C getsTheLock"
    mistake: ClassVar[str] = (
        "watches only the node that is as many places ahead as there are permits (as Curator's "
        "lock with several leases did): when another holder goes it is not told"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class NoLookupSemaphore(Semaphore):
    """It creates again when a create got no answer."""

    contest = _NoLookup
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "does not look for its node after a lost reply: it creates a second one, and the first "
        "keeps a permit while its session lives"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "orphan-node"})


class ReleaseByPlaceSemaphore(Semaphore):
    """Its release removes the first node, whoever's it is."""

    contest = _ReleaseByPlace
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "release removes the first node in line, taking it for its own: with several permits "
        "the holder who lets go need not be the first who came"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"orphan-node", "deadlock"})


class SortsByNameSemaphore(Semaphore):
    """Its line is in no order."""

    contest = _SortsByName
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts the nodes by their whole names, which begin with a random mark, not by their "
        "sequence numbers"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unfair-grant", "split-brain"})


class BelievesForGoodSemaphore(BelievesForGood, Semaphore):
    """Its holder does not listen."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "goes on believing that it holds while suspended, and after LOST"
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})


class NeverHeldSemaphore(NeverBelieves, Semaphore):
    """Its holder does not know that it holds."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "held is always false: a holder does nothing with its permit"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})


class IgnoresTimeoutSemaphore(IgnoresTimeout, Semaphore):
    """Its waiters do not give up."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class HalvesTimeoutSemaphore(HalvesTimeout, Semaphore):
    """Its waiters give up too early."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
