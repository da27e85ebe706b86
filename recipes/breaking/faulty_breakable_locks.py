"""Locks that are broken in one wrong way each, which the harness must find."""

from collections.abc import Callable
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.breaking.breakable_lock import BlacklistLock, IdentityLock
from rumpus.recipes.breaking.session_blacklist import BlacklistGuard, SessionBlacklist
from rumpus.recipes.contests.faulty_contenders import (
    CountsItsOwnGrants,
    HalvesTimeout,
    IgnoresTimeout,
    NeverBelieves,
    WaitsForItself,
)
from rumpus.recipes.contests.faulty_contests import (
    FirstSessionOnly,
    KeepsPlace,
    PersistentNode,
    SortsByName,
    WatchesFirst,
)
from rumpus.recipes.contests.line_view import Stand
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class BlacklistDeletesLock(BlacklistLock):
    """It does not wait for the holder to obey."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "whoever puts a session on the list also deletes its node, to have the lock at once: the "
        "holder still believes"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"freed-live-holder", "split-brain"})

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        """Put the session on the list, and delete the node."""
        super().blacklist(stand, timeout)
        deadline = Deadline(timeout)
        session = Session(self._client)
        try:
            session.ask(deadline, self._client.delete_async, stand.node)
        except NoNodeError:
            return
        finally:
            session.close()


class _NotificationsOnly(SessionBlacklist):
    def names(
        self,
        session: int,
        present: Session,
        deadline: Deadline,
        news: Callable[[WatchedEvent], None],
    ) -> bool:
        heard: list[WatchedEvent] = []

        def created(event: WatchedEvent) -> None:
            if event.type == EventType.CREATED:
                heard.append(event)
                news(event)

        super().names(session, present, deadline, created)
        while not heard and not present.lost:
            present.wake.wait()
            present.wake.clear()
        return bool(heard)


class NotificationsOnlyLock(BlacklistLock):
    """It believes that it will be told."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "looks at the list once a session and then relies on the watch, which is gone after a "
        "reconnection: what was written since is never read"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"missed-revocation"})

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        name: str = "",
        grace: float = 2.0,
        condemned: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(client, path, name=name, grace=grace, condemned=condemned)
        listened = _NotificationsOnly(client, f"{path}/blacklist")
        self._guard = BlacklistGuard(client, listened, condemned)


class TellsNobodyLock(BlacklistLock):
    """It ends the session behind the application's back."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "ends the session that is on the list without telling the application, which goes on "
        "believing when it wakes up"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unaware-holder"})

    @property
    def _believes(self) -> bool:
        return self._grant is not None


class FreesFirstLock(IdentityLock):
    """It frees whoever holds."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "deletes the node of whoever holds the lock when it comes to it, without comparing: the "
        "dead one's may have gone meanwhile"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"freed-live-holder", "split-brain"})

    def _free(self, _stand: Stand, session: Session, deadline: Deadline) -> bool:
        holder = self.holder(deadline.left())
        return holder is not None and super()._free(holder, session, deadline)


class ReusedPathLock(IdentityLock):
    """Identity and version, on a path that is used again."""

    contest = UnfairContest  # type: ignore[assignment]  # a fair lock in all but the line
    promises: ClassVar[Promises] = Promises(
        prevents=IdentityLock.promises.prevents - {"double-grant", "unfair-grant", "herd"},
        tokens=True,
        reentrant=True,
        notes=IdentityLock.promises.notes,
    )
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "every holder creates the same node: the version of a successor's is 0 as well, so that "
        "a delete which compares versions removes it"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"freed-live-holder", "split-brain"})

    @staticmethod
    def identity_of(stand: Stand) -> str:
        """The node carries the contest's mark before the identity."""
        return stand.data.decode().partition(" ")[2]


class NoIncarnationLock(IdentityLock):
    """It takes a process that was started anew for the one that died."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "the identity is where the process runs, which its next incarnation shares: freed is "
        "whoever has come back"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"freed-live-holder", "split-brain"})

    @staticmethod
    def _identify(name: str) -> str:
        return name


class PersistentNodeBreakable(BlacklistLock):
    """Ending its session does not free it."""

    contest = PersistentNode
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the node is persistent: it outlives the session that is on the list"
    expected: ClassVar[frozenset[str]] = frozenset({"deadlock", "orphan-node"})


class FirstSessionOnlyBreakable(BlacklistLock):
    """A client whose session was ended once contends no more."""

    contest = FirstSessionOnly
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "remembers that its session was on the list, and not that the client has a new one: it "
        "never contends again"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"stuck-waiter"})


class KeepsPlaceBreakable(BlacklistLock):
    """A holder comes back to its old place."""

    contest = KeepsPlace
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a holder whose session was on the list creates its node anew under the old name: the "
        "lock has passed on meanwhile"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"double-grant"})


class ClaimsRemovalLock(IdentityLock):
    """Who frees it is always told that it has."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "free says that it removed the node whatever the server answered: several supervisors take "
        "the same failure for theirs to mend"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"false-removal"})

    def free(self, stand: Stand, timeout: float | None = 5.0) -> bool:
        """Remove it, or not; True."""
        super().free(stand, timeout)
        return True


class SortsByNameBreakable(IdentityLock):
    """Its line is in no order."""

    contest = SortsByName
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "sorts the nodes by their whole names, which begin with a random mark, not by their "
        "sequence numbers"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"unfair-grant", "split-brain"})


class WatchesFirstBreakable(IdentityLock):
    """Everybody watches the holder."""

    contest = WatchesFirst
    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "every waiter watches the holder, to see at once when it is freed: all of them are woken"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"herd"})


class CountsGrantsBreakable(CountsItsOwnGrants, IdentityLock):
    """Its tokens are each client's own."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "the token is how often this client was granted the lock"
    expected: ClassVar[frozenset[str]] = frozenset({"token-regression"})


class NeverHeldBreakable(NeverBelieves, IdentityLock):
    """Its holder does not know that it holds."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "held is always false: a holder does nothing with the lock"
    expected: ClassVar[frozenset[str]] = frozenset({"unbelieving-holder"})


class RefusesReentryBreakable(WaitsForItself, IdentityLock):
    """Its holder waits for itself."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = (
        "a thread that holds the lock and asks for it again waits until its timeout, for itself"
    )
    expected: ClassVar[frozenset[str]] = frozenset({"refused-reentry"})


class IgnoresTimeoutBreakable(IgnoresTimeout, IdentityLock):
    """Its waiters do not give up."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire takes a timeout and waits for ever"
    expected: ClassVar[frozenset[str]] = frozenset({"overdue-call"})


class HalvesTimeoutBreakable(HalvesTimeout, IdentityLock):
    """Its waiters give up too early."""

    faulty: ClassVar[bool] = True
    mistake: ClassVar[str] = "acquire gives up after half of its timeout"
    expected: ClassVar[frozenset[str]] = frozenset({"early-timeout"})
