"""Locks that are broken in one wrong way each, which the harness must find."""

from collections.abc import Callable
from typing import ClassVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.breaking.breakable_lock import BlacklistLock, IdentityLock
from rumpus.recipes.breaking.session_blacklist import BlacklistGuard, SessionBlacklist
from rumpus.recipes.contests.line_view import Stand
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session


class BlacklistDeletesLock(BlacklistLock):
    """It does not wait for the holder to obey."""

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


class FreesFirstLock(IdentityLock):
    """It frees whoever holds."""

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

    @staticmethod
    def identity_of(stand: Stand) -> str:
        """The node carries the contest's mark before the identity."""
        return stand.data.decode().partition(" ")[2]


class NoIncarnationLock(IdentityLock):
    """It takes a process that was started anew for the one that died."""

    @staticmethod
    def _identify(name: str) -> str:
        return name


class ClaimsRemovalLock(IdentityLock):
    """Who frees it is always told that it has."""

    def free(self, stand: Stand, timeout: float | None = 5.0) -> bool:
        """Remove it, or not; True."""
        super().free(stand, timeout)
        return True
