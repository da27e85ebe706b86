"""Locks that can be taken from a holder that hangs, or that has died.

Two ways, for two cases (after "What kind of distributed lock does our system need?", Alibaba Cloud
Storage):

- ``BlacklistLock``: the holder may be alive. Its session is named on a list, and its own client
  obeys (``recipes.breaking.session_blacklist``).
- ``IdentityLock``: somebody *knows* that the holder's process is dead, a supervisor that saw it
  end. The holder's node says which process made it; that node, and no other, is deleted at once
  instead of waiting for its session to expire.

**Compare and delete.** ZooKeeper's delete compares a version only, and a node that is created
anew begins at version 0 again: on a path that is used again, neither identity nor version tells
whether it is still the node that was looked at. Here every contender's node has a name that is
never used again (``recipes.contests.fair_contest``), so that a delete, however late, cannot hit
another.
"""

import os
import socket
import uuid
from collections.abc import Callable
from typing import ClassVar, Final

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, ConnectionClosedError, NoNodeError

from rumpus.recipes.breaking.session_blacklist import BlacklistGuard, SessionBlacklist
from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.contests.line_view import Stand, first_in_line
from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retrying_call import until_answered
from rumpus.recipes.requests.session import Session, Unanswered

BLACKLIST: Final = "blacklist"
"""Below the lock's path: the list of sessions that are to be ended."""


class BreakableLock(FairLock):
    """A fair lock that tells who holds it."""

    def holder(self, timeout: float | None = 5.0) -> Stand | None:
        """Who is first in line, as a server saw it a moment ago; None if nobody is.

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


class BlacklistLock(BreakableLock):
    """Taken from a hung holder by its session, which its own client ends.

    Args:
        client: as for every lock here. **It is stopped and started again** when its session is
            on the list; what else uses it sees its session end.
        path: the znode of the lock. The list is below it, at ``path``/blacklist.
        name, grace: see ``recipes.contests.contender``.
        condemned: called, on another thread, when this client's session was found on the list
            and before it is ended: the application must stop acting.
    """

    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"freed-live-holder", "missed-revocation"},
        "The holder stops believing before the lock passes on, but what it is in the middle "
        "of is not undone: let the resource check tokens. A client that is frozen as a whole "
        "does not obey; its session expires.",
    )
    _blacklist_class: ClassVar[type[SessionBlacklist]] = SessionBlacklist
    _guard_class: ClassVar[type[BlacklistGuard]] = BlacklistGuard

    def __init__(
        self,
        client: KazooClient,
        path: str,
        *,
        name: str = "",
        grace: float = 2.0,
        condemned: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(client, path, name=name, grace=grace)
        self._blacklist = self._blacklist_class(client, f"{path}/{BLACKLIST}")
        self._guard = self._guard_class(client, self._blacklist, condemned)

    def blacklist(self, stand: Stand, timeout: float | None = 5.0) -> None:
        """Have the holder's session ended. Returns once that is asked for, not once it is done.

        Raises:
            LockUnknown: no answer in time; it may be asked for, or may yet.
        """
        try:
            self._blacklist.add(stand.session, timeout)
        except Unanswered as error:
            raise LockUnknown(f"{self._path}: cannot tell whether it is on the list") from error

    def acquire(self, timeout: float | None = None) -> bool:
        """As ``ContestLock.acquire``; a waiter whose session is ended waits on in the next."""
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
        """As ``ContestLock.release``; who has lost it by the list is told ``NotHeld``."""
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
    """Where we run: host and process number. Used again, sooner or later, by another process."""
    return f"{socket.gethostname()}:{os.getpid()}"


class IdentityLock(BreakableLock):
    """Freed at once by whoever knows that the holder's process is dead.

    Args:
        name: where we run; host and process number if empty. The rest is as for every lock here.
    """

    promises: ClassVar[Promises] = FairLock.promises.and_more(
        {"freed-live-holder", "false-removal"},
        "Only as good as the knowledge that the process is dead: a holder that is freed "
        "although it lives goes on believing. Use the session blacklist where nobody knows.",
    )

    def __init__(
        self, client: KazooClient, path: str, *, name: str = "", grace: float = 2.0
    ) -> None:
        self.identity = self._identify(name or this_process())
        """Who we are, as our nodes say: where we run, and which incarnation this is."""
        super().__init__(client, path, name=self.identity, grace=grace)

    @staticmethod
    def _identify(name: str) -> str:
        return f"{name}/{uuid.uuid4().hex}"

    @staticmethod
    def identity_of(stand: Stand) -> str:
        """The identity of whoever made a node."""
        return stand.data.decode()

    def free(self, stand: Stand, timeout: float | None = 5.0) -> bool:
        """Remove the node of a process that is dead, and nobody else's.

        Args:
            stand: what ``holder`` told; its ``identity_of`` is the process that died.
            timeout: seconds.

        Returns:
            True: removed. False: it was gone, or somebody has written to it since.

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
