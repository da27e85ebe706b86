"""Locks with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import ConnectionClosedError, NoNodeError, SessionExpiredError

from recipes.contest import Entry
from recipes.deadline import Deadline
from recipes.fair_contest import FairContest
from recipes.lock import FairLock, UnfairLock
from recipes.session import Session, Unanswered
from recipes.unfair_contest import UnfairContest


class _PersistentNode(FairContest):
    def _create(self, entry: Entry, deadline: Deadline, *, ephemeral: bool = False) -> str:
        return super()._create(entry, deadline, ephemeral=ephemeral)


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


class _ReleaseByPath(UnfairContest):
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

    contest = _PersistentNode
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the node is persistent: it outlives its holder and its session"
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "stuck-waiter", "orphan-node"})


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

    contest = _ReleaseByPath
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "release deletes the node by path, whoever's it is: a holder whose session has expired "
        "frees the lock of the next one"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"split-brain"})


class NoLookupLock(FairLock):
    """It creates again when a create got no answer."""

    contest = _NoLookup
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "does not look for its node after a lost reply: it creates a second one and queues behind "
        "the first, which nobody removes while its session lives"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "stuck-waiter", "orphan-node"})
