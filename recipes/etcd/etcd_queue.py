"""Contenders in the order in which they came, as etcd's package ``concurrency`` queues them.

``go.etcd.io/etcd/client/v3/concurrency`` (``election.go``, ``mutex.go``): a contender creates a key
of its own below a common prefix, bound to its session's lease. The key with the smallest create
revision is first. The others wait for the deletion of the key before theirs, so that one deletion
wakes one of them. The create revision is the fencing token, and the epoch of a leader.

Where this does more than the package:

- A contender that is woken looks again whether its key is there and first, in one transaction.
- A watch is given up after a second, and the contender looks again: the server that it watches may
  be cut off from the others, and then no event comes.
- If nobody knows whether a key was written or removed, the session is given up, too. Its lease ends
  by itself, and then etcd refuses what is still on its way.
"""

import json
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple

from rumpus.recipes.contests.interfaces import LockUnknown, NotHeld
from rumpus.recipes.etcd.etcd_access import (
    Answer,
    EtcdAccess,
    LeaseGone,
    after_prefix,
    created_at,
    decoded,
    delete,
    get,
    pairs,
    put,
    revision_of,
)
from rumpus.recipes.etcd.etcd_session import EtcdSession
from rumpus.recipes.requests.deadline import Deadline
from rumpus.recipes.requests.retries import PAUSE, pause
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

WATCH_S: Final = 1.0
"""Seconds after which a waiter looks again."""


class Place(NamedTuple):
    """A place in the queue: whose session, which key, created at which revision."""

    session: EtcdSession
    key: str
    revision: int


class Ahead(NamedTuple):
    """The key before ours, and the revision at which it was there."""

    key: str
    revision: int


class _Removed(Exception):  # noqa: N818 - news, not a fault
    """Our key is gone: its lease has ended, or somebody removed it."""


class EtcdQueue:
    """One client's side of a queue; one place of ours at a time. Not for several threads.

    Args:
        servers: where etcd is.
        path: the queue's keys are ``<path>/<lease>``.
        name: who we are, for observers.
        grace: seconds by which a call may exceed its timeout, to remove our own key.
    """

    session_class: ClassVar[type[EtcdSession]] = EtcdSession
    bound: ClassVar[bool] = True
    """Whether a key ends with its session's lease."""

    def __init__(self, servers: Servers, path: str, name: str, grace: float) -> None:
        self._servers = servers
        self._path = path
        self._name = name
        self._grace = grace
        self._access = EtcdAccess(servers)
        self._session: EtcdSession | None = None

    def win(self, timeout: float | None) -> Place | None:
        """Wait to be first; None when the time is over and no key of ours is left.

        Raises:
            LockUnknown: the time is over, and a key of ours may be there until its lease ends.
        """
        deadline = Deadline(timeout)
        place: Place | None = None
        unsure = ""
        while True:
            try:
                session = self._opened()
                if place is None or place.session is not session:
                    place = None
                    unsure = "no answer to the request to join"
                    place = self._join(session)
                    unsure = ""
                if self._is_ours(place, deadline):
                    return place
            except _Removed:
                place = None
            except LeaseGone:
                self._give_up()
                place, unsure = None, ""
            except Unanswered:
                pause(deadline)
            if deadline.passed:
                break
        if place is not None:
            with suppress(NotHeld):
                self.leave(place)
        elif unsure:
            self._give_up()
            raise LockUnknown(f"{self._path}: {unsure}, our key may be there until its lease ends")
        return None

    def leave(self, place: Place) -> None:
        """Remove our key, if it is still ours.

        Raises:
            NotHeld: it was gone: the lease has ended, or somebody removed the key.
            LockUnknown: no answer within the grace. The key ends with the session, which is over.
        """
        deadline = Deadline(self._grace)
        unsure = False
        while True:
            try:
                removed = self._remove(place)
                break
            except Unanswered as error:
                unsure = True
                if deadline.passed:
                    self._give_up()
                    raise LockUnknown(f"{self._path}: no answer, our key may be there") from error
                pause(deadline, PAUSE)
        if not removed and not unsure:  # else an earlier try may have removed it
            raise NotHeld(f"{self._path}: our key {place.key} was gone")

    def proclaim(self, place: Place) -> bool:
        """Say in our key's value that we know that we are first; False if it is no longer ours.

        Raises:
            Unanswered: nobody knows.
        """
        ours = created_at(place.key, place.revision)
        value = self._value(acknowledged=True)
        try:
            answer = self._access.transaction([ours], [self._put(place.key, value, place.session)])
        except LeaseGone:
            return False
        return bool(answer.get("succeeded"))

    def first(self, **options: Any) -> dict[str, Any] | None:
        """The first key of the queue as etcd's gateway gives it; None if there is none.

        Args:
            options: of the read; ``serializable``, say.

        Raises:
            Unanswered: no answer.
        """
        answer = self._access.transaction([], [self._in_order("ASCEND", **options)])
        found = pairs(answer)
        return found[0] if found else None

    def left(self) -> list[str]:
        """The keys in the queue; raises ``Unanswered``."""
        answer = self._access.transaction([], [self._in_order("ASCEND", limit=0)])
        return [decoded(each["key"]) for each in pairs(answer)]

    def reconnect(self) -> None:
        """Drop the connection: the next request goes to the next server."""
        self._access.reconnect()

    def close(self) -> None:
        """End the session, and with it our key, once the lease is over."""
        self._give_up()
        self._access.reconnect()

    def _opened(self) -> EtcdSession:
        """Our session; a new one if there is none, or it has ended."""
        if self._session is None or self._session.lost:
            self._session = self.session_class(self._servers, self._path, self._name)
        return self._session

    def _give_up(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _in_order(self, order: str, *, limit: int = 1, **options: Any) -> dict[str, Any]:
        prefix = f"{self._path}/"
        sorting = {"sort_order": order, "sort_target": "CREATE", "limit": limit}
        return get(prefix, range_end=after_prefix(prefix), **sorting, **options)

    def _value(self, *, acknowledged: bool = False) -> str:
        return json.dumps({"name": self._name, "acknowledged": acknowledged})

    def _put(self, key: str, value: str, session: EtcdSession) -> dict[str, Any]:
        return put(key, value, session.lease if self.bound else None)

    def _join(self, session: EtcdSession) -> Place:
        """Create our key, or find the one that a request without an answer has created."""
        key = f"{self._path}/{session.lease:016x}"
        request = self._put(key, self._value(), session)
        answer = self._access.transaction([created_at(key, 0)], [request], [get(key)])
        if answer.get("succeeded"):
            return Place(session, key, revision_of(answer))
        return Place(session, key, int(pairs(answer)[0]["create_revision"]))

    def _is_ours(self, place: Place, deadline: Deadline) -> bool:
        """Whether it is our turn; else wait for the key before ours to be deleted."""
        ahead = self._ahead(place)
        if ahead is not None:
            self._await_deletion(ahead, deadline)
            return False
        return not place.session.lost

    def _ahead(self, place: Place) -> Ahead | None:
        """The key before ours; None if it is our turn.

        Raises:
            _Removed: our key is gone.
            Unanswered: no answer.
        """
        before = self._in_order("DESCEND", max_create_revision=place.revision - 1)
        answer = self._access.transaction([created_at(place.key, place.revision)], [before])
        if not answer.get("succeeded"):
            raise _Removed
        return self._last(answer)

    @staticmethod
    def _last(answer: Answer) -> Ahead | None:
        """The key that a read of those before ours has found."""
        found = pairs(answer)
        return Ahead(decoded(found[0]["key"]), revision_of(answer)) if found else None

    def _await_deletion(self, ahead: Ahead, deadline: Deadline) -> None:
        left = deadline.left()
        seconds = WATCH_S if left is None else min(WATCH_S, left)
        if seconds:
            for event in self._access.watch(ahead.key, ahead.revision + 1, seconds):
                if event.get("type") == "DELETE":
                    return

    def _remove(self, place: Place) -> bool:
        """Delete our key if it is ours; whether it was. Raises ``Unanswered``."""
        ours = created_at(place.key, place.revision)
        return bool(self._access.transaction([ours], [delete(place.key)]).get("succeeded"))
