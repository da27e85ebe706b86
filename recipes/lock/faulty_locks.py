"""Locks with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import FairContest
from rumpus.recipes.contests.faulty_contenders import (
    HalvesTimeout,
    IgnoresTimeout,
    NeverBelieves,
    WaitsForItself,
)
from rumpus.recipes.contests.faulty_contests import KeepsPlace, PersistentNode, SortsByName
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.lock.contest_lock import FairLock, UnfairLock
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Unanswered


class _NoRecheck(FairContest):
    def _round(self, entry: Entry, deadline: Deadline) -> bool:
        self._enter(entry, deadline)
        ahead = self._ahead(entry, deadline)
        return not ahead or self._await(self._watched(ahead), entry, deadline)


class WatchFirst(_NoRecheck):
    """Everybody watches whoever is first, and goes ahead when that one vanishes."""

    def _watched(self, blocking: list[str]) -> list[str]:
        return blocking[:1]


class _NoLookup(FairContest):
    def _find(self, _entry: Entry, _deadline: Deadline) -> str | None:
        return None


class ReleaseByPath(UnfairContest):
    """Deletes the path in whatever session the client has, whosever node is there."""

    def _take_out(self, entry: Entry, deadline: Deadline) -> bool:
        if entry.node is None:
            return super()._take_out(entry, deadline)
        session = Session(self._client)  # whichever it is by now
        try:
            session.ask(deadline, self._client.delete_async, entry.node)
        except NoNodeError:
            return False
        except ConnectionClosedError:
            raise
        except SessionExpiredError as error:
            raise Unanswered("to be tried again, in the next session") from error
        finally:
            session.close()
        return True


class PersistentNodeLock(FairLock):
    """Its node is not ephemeral."""

    contest = PersistentNode
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the node is persistent: it outlives its holder and its session"
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "orphan-node"})


class NoRecheckLock(FairLock):
    """It does not look again."""

    contest = _NoRecheck
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "takes the lock when its predecessor vanishes, without looking whether it is first: the "
        "predecessor may have been a waiter that gave up or died"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class WatchFirstLock(FairLock):
    """Everybody watches the holder, and does not look again."""

    contest = WatchFirst
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "all waiters watch the first node, and take the lock when it vanishes, without looking"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain", "herd"})


class ReleaseByPathLock(UnfairLock):
    """Its release removes whatever node is there."""

    contest = ReleaseByPath
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "G 7"
    mistake: ClassVar[str] = (
        "release deletes the node by path, whoever's it is: a holder whose session has expired "
        "frees the lock of the next one"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class NoLookupLock(FairLock):
    """It creates again when a create got no answer."""

    contest = _NoLookup
    faulty: ClassVar[bool] = True
    printed: ClassVar[str] = "L 3.5"
    mistake: ClassVar[str] = (
        "does not look for its node after a lost reply: it creates a second one and queues behind "
        "the first, which nobody removes while its session lives"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "orphan-node"})


class NeverHeldLock(NeverBelieves, FairLock):
    """Its holder does not know that it holds."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "held is always false: a client that is granted it does nothing with it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})


class RefusesReentryLock(WaitsForItself, FairLock):
    """Its holder waits for itself."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a thread that holds the lock and asks for it again waits until its timeout, for itself"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"refused-reentry"})


class IgnoresTimeoutLock(IgnoresTimeout, FairLock):
    """Its waiters do not give up."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class KeepsPlaceLock(FairLock):
    """It comes back to its old place."""

    contest = KeepsPlace
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a client whose session ended creates its node anew under the old name, to keep its place "
        "in the line: the lock has passed on meanwhile"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"double-grant"})


class SortsByNameLock(FairLock):
    """Its line is in no order."""

    contest = SortsByName
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts the nodes by their whole names, which begin with a random mark, not by their "
        "sequence numbers"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unfair-grant", "split-brain"})


class HalvesTimeoutLock(HalvesTimeout, FairLock):
    """Its waiters give up too early."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
