"""Locks that others can take from a holder that hangs, or that has died.

There are three recipes (after "What kind of distributed lock does our system need?", Alibaba Cloud
Storage):

- ``ServiceBlacklistLock``: the holder may be alive. Its session is put on a blacklist, and the
  service refuses the session's heartbeats, so that it expires. This needs such a service.
- ``BlacklistLock``: the same for ZooKeeper as it is: the holder's own client reads the list, and
  ends the session (``recipes.breaking.session_blacklist``).
- ``IdentityLock``: a supervisor *knows* that the holder's process is dead, because it saw the
  process end. The holder's node says which process created it; the supervisor deletes that node,
  and no other one, without waiting for its session to expire.

**Compare and delete.** ZooKeeper's delete compares only a version, and a node that is created again
begins at version 0. So on a path that is used again, neither identity nor version tells whether the
node is still the one that was read. Here every contender's node has a unique name
(``recipes.contests.fair_contest``), so a delete that arrives late cannot hit another node.
"""

import os
import socket
import uuid
from collections.abc import Callable
from typing import ClassVar, Final, Literal, Unpack

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, ConnectionClosedError, NoNodeError

from rumpus.recipes.breaking.session_blacklist import BlacklistGuard, SessionBlacklist
from rumpus.recipes.contests.contender import ContenderOptions
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.contests.line_view import Stand, first_in_line
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session, Unanswered

BLACKLIST: Final = "blacklist"
"""The child of the lock's znode that holds the blacklist."""


class BreakableLock(FairLock):
    """A fair lock that shows who holds it."""

    def holder(self, timeout: float | None = 5.0) -> Stand | None:
        """The first contender in the queue, as a server showed it a moment ago; None if empty.

        Raises:
            LockUnknown: no answer in time.
        """
        deadline = Deadline(timeout)
        line = self.line(self._path)
        try:
            return until_answered(
                self._client,
                deadline,
                lambda session: first_in_line(self._client, session, line, deadline),
            )
        except Unanswered as error:
            raise LockUnknown(f"{self._path}: cannot tell who holds it") from error


class ListedLock(BreakableLock):
    """A lock that is taken from a holder by putting the holder's session on a blacklist.

    The blacklist is the child ``blacklist`` of the lock's znode.
    """

    _blacklist_class: ClassVar[type[SessionBlacklist]] = SessionBlacklist

    def __init__(self, client: KazooClient, path: str, **options: Unpack[ContenderOptions]) -> None:
        super().__init__(client, path, **options)
        self._blacklist = self._blacklist_class(client, f"{path}/{BLACKLIST}")

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        """Put the holder's session on the blacklist. Does not wait until the session has ended.

        Raises:
            LockUnknown: no answer in time; the session may be listed, or may be yet.
        """
        try:
            self._blacklist.add(stand.session, timeout)
        except Unanswered as error:
            raise LockUnknown(f"{self._path}: cannot tell whether it is on the list") from error


class ServiceBlacklistLock(ListedLock):
    """A lock that is taken from a holder by having the service refuse the holder's session.

    The holder may be alive and send heartbeats: none reaches a server any more, so its session
    expires within its timeout, and nothing depends on the holder's own program.

    Args:
        client, path, name, grace: see ``recipes.contests.contender``.
        refuse: asks the service to refuse a session from now on, on all of its servers; returns
            once it does. ZooKeeper's servers have no such request: rumpus' links carry it out.
    """

    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"freed-live-holder", "lingering-session"},
        "The lock passes on once the session has expired, not before. The holder stops believing "
        "when its connection is refused, but an action that it has begun is not undone: let the "
        "resource check tokens.",
    )
    service: ClassVar[Literal["lasting", "once", "one-server"]] = "lasting"
    """How the service refuses, for tests of services that make mistakes."""

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        refuse: Callable[[int], None],
        **options: Unpack[ContenderOptions],
    ) -> None:
        super().__init__(client, path, **options)
        self._refuse = refuse

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        """Put the session on the list, and have it refused; see ``ListedLock``."""
        super().blacklist(stand, timeout)
        self._refuse(stand.session)


class BlacklistLock(ListedLock):
    """A lock that is taken from a holder by ending the holder's session.

    Args:
        client: a started client with kazoo's threading handler. **It is stopped and started
            again** when its session is listed: its other users see their session end.
        path: the znode of the lock. The blacklist is its child ``blacklist``.
        name, grace: see ``recipes.contests.contender``.
        condemned: called on another thread when this client's session was found on the list,
            before it is ended: the application must stop acting as holder.
    """

    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"freed-live-holder", "missed-revocation"},
        "The holder stops believing before the next one is granted the lock, but an action that "
        "it has begun is not undone: let the resource check tokens. If the whole process is "
        "frozen it does not read the list; its session expires.",
    )
    _guard_class: ClassVar[type[BlacklistGuard]] = BlacklistGuard

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        condemned: Callable[[], None] = lambda: None,
        **options: Unpack[ContenderOptions],
    ) -> None:
        super().__init__(client, path, **options)
        self._guard = self._guard_class(client, self._blacklist, condemned)

    def acquire(self, timeout: float | None = None) -> bool:
        """As ``ContestLock.acquire``; if the guard ends the session, waits on in the next one."""
        self._guard.start()
        deadline = Deadline(timeout)
        while self._guard.idle.wait(deadline.left()):
            endings = self._guard.endings
            try:
                return super().acquire(deadline.left())
            except ConnectionClosedError:
                if self._guard.endings == endings:
                    raise
        return False

    def release(self) -> None:
        """As ``ContestLock.release``; raises ``NotHeld`` if the guard has ended the session."""
        endings = self._guard.endings
        try:
            super().release()
        except ConnectionClosedError:
            if self._guard.idle.is_set() and self._guard.endings == endings:
                raise
            raise NotHeld(f"{self._path}: the session was on the blacklist") from None

    @property
    def _believes(self) -> bool:
        return super()._believes and not self._guard.condemned(self.session)

    def _still_ours(self, grant: Entry, deadline: Deadline) -> bool:
        return not self._guard.condemned(grant.session_id) and super()._still_ours(grant, deadline)


def this_process() -> str:
    """Host and process number. Later, another process may have the same ones."""
    return f"{socket.gethostname()}:{os.getpid()}"


class IdentityLock(BreakableLock):
    """A lock that is taken from a holder whose process is known to be dead.

    Args:
        client, path, grace: see ``recipes.contests.contender``.
        name: where this process runs; host and process number if empty.
    """

    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"freed-live-holder", "false-removal"},
        "Safe only if the process is really dead: a holder that lives, and whose node is deleted, "
        "goes on believing. Use the session blacklist if nobody knows.",
    )

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        self.identity = self._identify(name or this_process())
        """The data of our nodes: where we run, and a unique id of this incarnation."""
        super().__init__(client, path, name=self.identity, grace=grace)

    @staticmethod
    def _identify(name: str) -> str:
        return f"{name}/{uuid.uuid4().hex}"

    @staticmethod
    def identity_of(stand: Stand) -> str:
        """The identity of the process that created a node."""
        return stand.data.decode()

    def free(self, stand: Stand, timeout: float | None = 5.0) -> bool:
        """Delete the node of a process that is dead, and no other node.

        Args:
            stand: the dead process's node, as ``holder`` returned it.
            timeout: seconds; None is for ever.

        Returns:
            True: deleted. False: the node was gone, or was changed since.

        Raises:
            LockUnknown: no answer in time.
        """
        deadline = Deadline(timeout)
        try:
            return until_answered(
                self._client, deadline, lambda session: self._free(stand, session, deadline)
            )
        except Unanswered as error:
            raise LockUnknown(f"{stand.node}: cannot tell whether it was removed") from error

    def _free(self, stand: Stand, session: Session, deadline: Deadline) -> bool:
        try:
            session.ask(deadline, self._client.delete_async, stand.node, version=stand.version)
        except (NoNodeError, BadVersionError):
            return False
        return True
