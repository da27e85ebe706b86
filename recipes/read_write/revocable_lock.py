"""A read-write lock whose holders can be asked to let go.

Whoever wants it writes ``unlock`` into the nodes of those who hold it. A holder is not made to
let go: it looks whether it was asked, and does as it likes. The idea is ZooKeeper's published
recipe ("ZooKeeper Recipes and Solutions, Revocable Shared Locks"), which has the holder look at
its node once, with a watch, and then wait for the event. Here what counts is what stands in the
node. It is read, with a watch, whenever somebody wants to know and after every change of the
connection, so neither a request that came before the first look is missed nor one whose event
was lost with a connection.
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
"""What a node holds whose owner has been asked to let go."""

REQUEST_PATIENCE: Final = 2.0
"""Seconds for answers that are on their way when the time to wait is over."""

_NUMBER: Final = re.compile(re.escape(MARK) + r"(-?\d{10})$")


class _Revocable(ContestLock):
    @property
    def entry(self) -> Entry | None:
        """What stands in the line for the present grant."""
        return self._grant


class RevocableReader(_Revocable, ReadLock):
    """A reader who can be asked."""


class RevocableWriter(_Revocable, WriteLock):
    """A writer who can be asked."""


class RevocableReadWriteLock(ReadWriteLock):
    """``asked`` for those who hold, ``revoke`` for those who want; see the module."""

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
        """Wait until somebody asks us to let go, for so many seconds at most.

        Raises:
            NotHeld: there is nothing to let go of, or it is lost.
            LockUnknown: we could not look: no answer in time.
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
        """Whether a request stands in our node now; with a watch, so that later ones wake us."""
        session = entry.session
        session.wake.clear()
        data, _ = session.ask(deadline, self._client.get_async, entry.node, session.watcher())
        return bool(data == UNLOCK)

    def revoke(self, timeout: float = 2.0) -> tuple[str, ...]:
        """Ask all who hold it now, but for ourselves, to let go; each once, whoever asks.

        Returns:
            Their nodes, in each of which the request stands; without those that went meanwhile.

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
        """The nodes of those who hold: the first, and who shares it with it. Ours is left out."""
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
