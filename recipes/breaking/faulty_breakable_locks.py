"""Breakable locks with one known mistake each, which the harness must find."""

from typing import ClassVar

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType, WatchedEvent

from rumpus.recipes.breaking.breakable_lock import BlacklistLock, IdentityLock, ServiceBlacklistLock
from rumpus.recipes.breaking.session_blacklist import SessionBlacklist
from rumpus.recipes.contests.line_view import Stand
from rumpus.recipes.contests.unfair_contest import UnfairContest
from rumpus.recipes.mistake import made
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.session import Session, Watcher


class BlacklistDeletesLock(BlacklistLock):
    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        super().blacklist(stand, timeout)
        deadline = Deadline(timeout)
        session = Session(self._client)
        made(stand.node)
        try:
            session.ask(deadline, self._client.delete_async, stand.node)
        except NoNodeError:
            return
        finally:
            session.close()


class NotificationsOnly(SessionBlacklist):
    def names(self, session: int, present: Session, deadline: Deadline, news: Watcher) -> bool:
        heard: list[WatchedEvent] = []

        def created(event: WatchedEvent) -> None:
            if event.type == EventType.CREATED:
                heard.append(event)
                news(event)

        if super().names(session, present, deadline, created):
            made(self.entry(session))
        while not heard and not present.lost:
            present.wake.wait()
            present.wake.clear()
            if not heard and not present.lost:
                made(self.entry(session))
        return bool(heard)


class RefusedOnceLock(ServiceBlacklistLock):
    service = "once"

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        super().blacklist(stand, timeout)
        made(stand.node)


class RefusedByOneServerLock(ServiceBlacklistLock):
    service = "one-server"

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        super().blacklist(stand, timeout)
        made(stand.node)


class FreesFirstLock(IdentityLock):
    def _free(self, stand: Stand, session: Session, deadline: Deadline) -> bool:
        holder = self.holder(deadline.left())
        if holder is not None and holder.node != stand.node:
            made(holder.node)
        return holder is not None and super()._free(holder, session, deadline)


class ReusedPathLock(IdentityLock):
    contest = UnfairContest  # type: ignore[assignment]  # a fair lock in all but the line
    promises: ClassVar[Promises] = Promises(
        prevents=IdentityLock.promises.prevents - {"double-grant", "unfair-grant", "herd"},
        tokens=True,
        reentrant=True,
        notes=IdentityLock.promises.notes,
    )

    @staticmethod
    def identity_of(stand: Stand) -> str:
        return stand.data.decode().partition(" ")[2]

    def _free(self, stand: Stand, session: Session, deadline: Deadline) -> bool:
        made(stand.node)
        return super()._free(stand, session, deadline)


class NoIncarnationLock(IdentityLock):
    @staticmethod
    def _identify(name: str) -> str:
        return name

    def _free(self, stand: Stand, session: Session, deadline: Deadline) -> bool:
        made(stand.node)
        return super()._free(stand, session, deadline)


class ClaimsRemovalLock(IdentityLock):
    def free(self, stand: Stand, timeout: float | None = 5.0) -> bool:
        if not super().free(stand, timeout):
            made(stand.node)
        return True
