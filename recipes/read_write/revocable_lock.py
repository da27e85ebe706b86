"""A read-write lock whose holders can be asked to let go.

A client that wants the lock writes ``unlock`` into the holders' nodes. Nobody forces a holder to
release: it checks whether it was asked, and decides itself. The idea is ZooKeeper's published
recipe ("ZooKeeper Recipes and Solutions, Revocable Shared Locks"). There the holder reads its node
once, with a watch, and then waits for the event. Here the data of the node counts, not the event.
The holder reads it, with a watch, in each call of ``asked`` and after every change of the
connection. So it misses neither a request that came before its first read nor one whose event was
lost with a connection.
"""

import re
import time
from typing import ClassVar, Final

from kazoo.exceptions import NoNodeError, SessionExpiredError

from rumpus.recipes.contests.contest import Entry
from rumpus.recipes.contests.fair_contest import MARK
from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.read_write.read_write_lock import (
    PROMISES,
    READ,
    ReadLock,
    ReadWriteLock,
    WriteLock,
)
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE
from rumpus.recipes.requests.session import Session, Unanswered

UNLOCK: Final = b"unlock"
"""The data of a node whose owner has been asked to release the lock."""

REQUEST_PATIENCE: Final = 2.0
"""Seconds after the timeout of ``asked`` for which an answer is still awaited."""

_NUMBER: Final = re.compile(re.escape(MARK) + r"(-?\d{10})$")


class _Revocable(ContestLock):
    @property
    def entry(self) -> Entry | None:
        """The contest entry of the present grant."""
        return self._grant


class RevocableReader(_Revocable, ReadLock):
    """A reader that can be asked to release."""


class RevocableWriter(_Revocable, WriteLock):
    """A writer that can be asked to release."""


class RevocableReadWriteLock(ReadWriteLock):
    """Holders call ``asked``; clients that want the lock call ``revoke``. See the module."""

    reader = RevocableReader
    writer = RevocableWriter
    revocable: ClassVar[bool] = True
    promises: ClassVar[Promises] = Promises(
        prevents=PROMISES.prevents | {"missed-revocation"},
        wakeups=PROMISES.wakeups,
        notes=(
            "A holder that was asked may refuse. That it learns of it is promised while it is "
            "connected to a server that is not behind. " + PROMISES.notes
        ),
    )

    def asked(self, timeout: float = 0.0) -> bool:
        """Wait until somebody asks us to release, for ``timeout`` seconds at most.

        Raises:
            NotHeld: we do not hold the lock, or have lost it.
            LockUnknown: our node could not be read: no answer in time.
        """
        entry = self._entry()
        deadline = Deadline(timeout, allowance=REQUEST_PATIENCE)
        try:
            while True:
                try:
                    if self._look(entry, deadline):
                        return True
                    if not entry.session.wake.wait(deadline.left()):
                        return False
                except Unanswered as error:
                    if deadline.passed:
                        raise LockUnknown(f"{self._path}: could not look: {error}") from error
                    time.sleep(PAUSE)
        except (NoNodeError, SessionExpiredError) as error:
            raise NotHeld(f"{self._path}: lost while held") from error

    def _look(self, entry: Entry, deadline: Deadline) -> bool:
        """Whether our node holds a request now; leaves a watch, so that a later one wakes us."""
        session = entry.session
        session.wake.clear()
        data, _ = session.ask(deadline, self._client.get_async, entry.node, session.watcher())
        return bool(data == UNLOCK)

    def revoke(self, timeout: float = 2.0) -> tuple[str, ...]:
        """Ask all present holders but ourselves to release. A node is written once, whoever asks.

        Returns:
            The holders' nodes, each of which now holds the request; without those gone meanwhile.

        Raises:
            LockUnknown: no answer in time; some may have been asked.
        """
        session = Session(self._client)
        deadline = Deadline(timeout)
        try:
            asked = []
            for node in self._holding(session, deadline):
                try:
                    data, _ = session.ask(deadline, self._client.get_async, node)
                    if data != UNLOCK:
                        session.ask(deadline, self._client.set_async, node, UNLOCK)
                except NoNodeError:
                    continue
                asked.append(node)
            return tuple(asked)
        except (Unanswered, SessionExpiredError) as error:
            raise LockUnknown(f"{self._path}: cannot tell who was asked") from error
        finally:
            session.close()

    def _holding(self, session: Session, deadline: Deadline) -> list[str]:
        """The holders' nodes: the first node and the readers that share with it. Without ours."""
        try:
            children = session.ask(deadline, self._client.get_children_async, self._path)
        except NoNodeError:
            return []
        queue = sorted((int(m[1]), m.string) for m in map(_NUMBER.search, children) if m)
        holding: list[str] = []
        for _, name in queue:
            if holding and not (READ in holding[-1] and READ in name):
                break
            holding.append(f"{self._path}/{name}")
        return [node for node in holding if node != self.node]

    def _entry(self) -> Entry:
        side = self._latest
        entry = side.entry if isinstance(side, _Revocable) else None
        if entry is None:
            raise NotHeld(f"{self._path}: not held by this client")
        return entry
