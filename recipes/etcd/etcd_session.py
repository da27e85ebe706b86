"""A session on etcd: a lease that a thread keeps alive, and until when the client may rely on it.

etcd's package does the same (``go.etcd.io/etcd/client/v3/concurrency``, ``session.go``). The client
counts the time to live on its own monotonic clock, from before it sent the last keepalive that was
answered. So its belief ends before the lease does, as long as all clocks run at the same rate.
Once the time is over the session has ended for good, as it has in the package.

Beyond the package, a session writes one key under its lease, ``<path>-sessions/<lease>``: it is
there as long as the lease is, so that others see when the session ended.
"""

import threading
import time
from typing import Any, Final

from rumpus.recipes.etcd.etcd_access import EtcdAccess, LeaseGone, put
from rumpus.recipes.leases.lease_lock import DRIFT, TTL_S
from rumpus.recipes.requests.session import Unanswered
from rumpus.recipes.servers import Servers

EVERY: Final = 3
"""Keepalives in a time to live, as many as in etcd's clients."""

AGAIN_S: Final = 0.1
"""Seconds from a keepalive that got no answer to the next one."""


class EtcdSession:
    """A session, from its beginning. The thread ends with the session.

    Args:
        servers: where etcd is.
        path: names the session's key.
        name: the client's, the value of that key.

    Raises:
        Unanswered: no answer; what was made ends by itself.
    """

    def __init__(self, servers: Servers, path: str, name: str) -> None:
        self._access = EtcdAccess(servers)
        self._changing = threading.Lock()
        self._closed = threading.Event()
        began = time.monotonic()
        with self._access.asking() as etcd:
            self.lease: int = etcd.lease(ttl=round(TTL_S)).id
        key = f"{path}-sessions/{self.lease:016x}"
        try:
            self._access.transaction([], [put(key, name, self.lease)])
        except LeaseGone as error:
            raise Unanswered("the lease ended at once") from error
        self._until = began + TTL_S * (1 - DRIFT) - 0.002
        threading.Thread(target=self._keep, name="etcd-keepalive", daemon=True).start()

    def remaining(self) -> float:
        """Seconds for which the lease is certain to last; 0 if the session has ended."""
        with self._changing:
            if self._closed.is_set():
                return 0.0
            return max(0.0, self._until - time.monotonic())

    @property
    def lost(self) -> bool:
        """Whether the session has ended, for good."""
        if self.remaining() > 0:
            return False
        self.close()
        return True

    def close(self) -> None:
        """End the session: keep the lease alive no longer, so that it ends by itself."""
        self._closed.set()

    def _keep(self) -> None:
        pause = TTL_S / EVERY
        while not self._closed.wait(pause):
            began = time.monotonic()
            try:
                with self._access.asking() as etcd:
                    ttl = self._refreshed(etcd)
            except Unanswered:
                pause = AGAIN_S
                if self.lost:
                    break
                continue
            pause = TTL_S / EVERY
            if not self._extend(began, ttl):
                break
        self._access.reconnect()

    def _refreshed(self, etcd: Any) -> int:
        """The time to live after a keepalive; not positive if the lease is gone."""
        from etcd3gw.lease import Lease  # noqa: PLC0415 - see etcd_access

        return int(Lease(self.lease, etcd).refresh())

    def _extend(self, began: float, ttl: int) -> bool:
        """Take note of an answer to a keepalive; whether the session goes on."""
        if ttl <= 0 or self.lost:
            self.close()
            return False
        with self._changing:
            self._until = began + ttl * (1 - DRIFT) - 0.002
        return True
