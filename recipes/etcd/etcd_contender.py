"""What the queueing lock and the election on etcd share: the grant, and how long it lasts."""

import threading
from typing import ClassVar

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.etcd.etcd_queue import EtcdQueue, Place
from rumpus.recipes.servers import Servers


class EtcdContender:
    """One client's side. Calls are for one thread; what it believes may be asked on any.

    Args:
        servers: where etcd is.
        path: the prefix of the contenders' keys.
        name: who we are, for observers.
        grace: seconds by which a call may exceed its timeout.
    """

    system: ClassVar[str] = "etcd"
    library: ClassVar[str] = "etcd3gw"
    queue_class: ClassVar[type[EtcdQueue]] = EtcdQueue

    def __init__(self, servers: Servers, path: str, *, name: str = "", grace: float = 1.0) -> None:
        self._path = path
        self._grace = grace
        self._queue = self.queue_class(servers, path, name, grace)
        self._place: Place | None = None
        self._lock = threading.Lock()

    @classmethod
    def line(cls, path: str) -> None:
        """None: they have no znodes."""

    def remaining(self) -> float:
        """Seconds for which the grant is certain to last; 0 without one."""
        with self._lock:
            return 0.0 if self._place is None else self._place.session.remaining()

    @property
    def session(self) -> int | None:
        """The lease of the grant; None without one."""
        return None if self._place is None else self._place.session.lease

    @property
    def token(self) -> int | None:
        """Fencing token: the create revision of our key; None without a grant."""
        return None if self._place is None else self._place.revision

    @property
    def node(self) -> str | None:
        """Our key, and its create revision in ten digits: its number in the queue."""
        place = self._place
        return None if place is None else f"{place.key}@{place.revision:010d}"

    def left(self) -> list[str]:
        """The contenders' keys that are there. May raise ``Unanswered``."""
        return self._queue.left()

    def reconnect(self) -> None:
        """Drop the connection: the next request goes to the next server."""
        self._queue.reconnect()

    def close(self) -> None:
        """End the session: our key goes when the lease is over."""
        self._forget()
        self._queue.close()

    def _win(self, timeout: float | None) -> bool:
        self._forget()
        place = self._queue.win(timeout)
        with self._lock:
            self._place = place
        return place is not None

    def _let_go(self) -> None:
        """Give up the grant. Raises ``NotHeld`` and ``LockUnknown``."""
        place = self._forget()
        if place is None:
            raise NotHeld(f"{self._path}: not held by this client")
        self._queue.leave(place)

    def _forget(self) -> Place | None:
        with self._lock:
            place, self._place = self._place, None
        return place
