"""The events of a handle, delivered on a thread of the library (Burrows, section 2.5).

An event is delivered after the action has taken place: what it tells of was read from a server, so
a client that then reads sees that state or a later one. Events may be merged: of two changes that
follow each other closely only the second may be reported.

ZooKeeper's watches are lost with the connection. So after each new connection everything is read
again, and what has changed is reported. That is also when ``MASTER_FAILED_OVER`` is delivered:
other events may have been merged, and a client that scans for itself should scan again. ZooKeeper
does not tell its clients of a new leader as such.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import KazooState

from rumpus.recipes.chubby.cell import FilePaths, Stat
from rumpus.recipes.chubby.file_lock import FileLock
from rumpus.recipes.chubby.lease import Lease, Standing
from rumpus.recipes.chubby.lock_table import LockTable
from rumpus.recipes.contests.fair_contest import MARK
from rumpus.recipes.read_write.read_write_lock import WRITE
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.follower import Follower
from rumpus.recipes.requests.session import Session


class EventKind(Enum):
    """What happened. ``Event.number`` is given in brackets."""

    CONTENTS_CHANGED = "contents changed"  # [content generation]
    CHILD_CHANGED = "child added or removed"  # [number of children]
    MASTER_FAILED_OVER = "master failed over"  # [0]
    HANDLE_INVALID = "handle invalid"  # [0]
    LOCK_ACQUIRED = "lock acquired"  # [lock generation]
    CONFLICTING_REQUEST = "conflicting request"  # [number of requests that wait for us]
    JEOPARDY = "jeopardy"  # [0]
    SAFE = "safe"  # [0]
    EXPIRED = "expired"  # [0]


class Event(NamedTuple):
    """Something that happened to a handle's file, its lock, or its session."""

    kind: EventKind
    number: int = 0


SESSION_EVENTS = {
    Standing.JEOPARDY: EventKind.JEOPARDY,
    Standing.SAFE: EventKind.SAFE,
    Standing.EXPIRED: EventKind.EXPIRED,
}
"""Delivered to every handle, whatever it asked for."""


class HandleEvents(Follower):
    """Follows what a handle has asked for, and tells its listener.

    Args:
        client: a started client with kazoo's threading handler.
        paths: the file's znodes.
        lease: the lease of the handle's session.
        lock: the handle's lock.
        opened: the file's Stat when the handle was opened.
        children: the names of its children then; needed for ``CHILD_CHANGED`` only.
        kinds: the events to deliver.
        tell: called with each event, one at a time; must not block.
    """

    def __init__(
        self,
        client: KazooClient,
        paths: FilePaths,
        lease: Lease,
        lock: FileLock,
        opened: Stat,
        children: AbstractSet[str],
        kinds: AbstractSet[EventKind],
        tell: Callable[[Event], None],
    ) -> None:
        super().__init__(client)
        self._paths = paths
        self._lease = lease
        self._lock = lock
        self._instance = opened.instance
        self._kinds = kinds
        self._tell = tell
        self._known: dict[EventKind, int | frozenset[str]] = {
            EventKind.CONTENTS_CHANGED: opened.content_generation,
            EventKind.LOCK_ACQUIRED: opened.lock_generation,
            EventKind.CHILD_CHANGED: frozenset(children),
            EventKind.CONFLICTING_REQUEST: frozenset(),
        }
        self._connected = True

    def _look(self, session: Session, deadline: Deadline) -> None:
        if self._lease.session.lost:  # the handle is of the session before
            self.close()
            return
        if session.connected and not self._connected:
            self._connected = True
            self._deliver(EventKind.MASTER_FAILED_OVER, 0)
        self._look_at_file(session, deadline)
        if EventKind.CHILD_CHANGED in self._kinds:
            self._look_at_children(session, deadline)
        if EventKind.LOCK_ACQUIRED in self._kinds:
            self._look_at_lock(session, deadline)
        if EventKind.CONFLICTING_REQUEST in self._kinds:
            self._look_at_queue(session, deadline)

    def open(self) -> None:
        """Begin to follow."""
        self._client.add_listener(self._state_changed)
        super().open()

    def _state_changed(self, state: str) -> bool:
        """Runs on kazoo's connection thread. Returning True unregisters it."""
        if state != KazooState.CONNECTED:
            self._connected = False
        return self._closed

    def _deliver(self, kind: EventKind, number: int) -> None:
        if kind in self._kinds and not self._closed:
            self._tell(Event(kind, number))

    def _renewed(self, kind: EventKind, now: int | frozenset[str]) -> bool:
        """Whether something has changed since the last look, or since the handle was opened."""
        before = self._known[kind]
        self._known[kind] = now
        return now != before

    def _look_at_file(self, session: Session, deadline: Deadline) -> None:
        news = self._news(session)
        try:
            _, stat = session.ask(deadline, self._client.get_async, self._paths.file, news)
        except NoNodeError:
            stat = None
        if stat is None or stat.czxid != self._instance:
            self._deliver(EventKind.HANDLE_INVALID, 0)
            self.close()
        elif self._renewed(EventKind.CONTENTS_CHANGED, stat.version):
            self._deliver(EventKind.CONTENTS_CHANGED, stat.version)

    def _look_at_children(self, session: Session, deadline: Deadline) -> None:
        names = self._children(session, deadline, self._paths.file)
        if self._renewed(EventKind.CHILD_CHANGED, frozenset(names)):
            self._deliver(EventKind.CHILD_CHANGED, len(names))

    def _look_at_lock(self, session: Session, deadline: Deadline) -> None:
        news = self._news(session)
        try:
            data, _ = session.ask(deadline, self._client.get_async, self._paths.taken, news)
        except NoNodeError:
            if (
                session.ask(deadline, self._client.exists_async, self._paths.taken, news)
                is not None
            ):
                session.wake.set()
            return
        generation = LockTable.parse(data.decode()).generation
        if self._renewed(EventKind.LOCK_ACQUIRED, generation):
            self._deliver(EventKind.LOCK_ACQUIRED, generation)

    def _look_at_queue(self, session: Session, deadline: Deadline) -> None:
        own = (self._lock.node or "").rpartition("/")[2]
        if not own:  # a grant looks again: who does not hold is not woken by others
            return
        names = self._children(session, deadline, self._paths.lock)
        waiting = [name for name in names if MARK in name and _is_behind(name, own)]
        if self._renewed(EventKind.CONFLICTING_REQUEST, frozenset(waiting)) and waiting:
            self._deliver(EventKind.CONFLICTING_REQUEST, len(waiting))

    def _children(self, session: Session, deadline: Deadline, path: str) -> list[str]:
        news = self._news(session)
        with suppress(NoNodeError):  # the look at the file tells
            return list(session.ask(deadline, self._client.get_children_async, path, news))
        return []


def _is_behind(name: str, own: str) -> bool:
    """Whether a contender's node is behind ours in the queue, and the two exclude each other."""
    return name[-10:] > own[-10:] and (WRITE in name or WRITE in own)
