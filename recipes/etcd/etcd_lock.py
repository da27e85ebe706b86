"""A lock on etcd: a key that is created under a lease if there is none; its revision is the token.

The key is written by a transaction that compares its create revision with 0, under a lease with a
time to live. etcd removes the key when the lease ends. The revision at which the key was created is
the fencing token: every later grant has a higher one (``go.etcd.io/etcd/client/v3/concurrency``
uses the same revision as the order in which contenders queue).

``EtcdLock`` never renews the lease, so the time to live bounds a hold. The lease is granted for
each try of its own. etcd counts a lease in whole seconds.
"""

from typing import Any, ClassVar

from rumpus.recipes.etcd.etcd_access import (
    EtcdAccess,
    LeaseGone,
    created_at,
    delete,
    encoded,
    put,
    revision_of,
)
from rumpus.recipes.leases.lease_lock import LEASE, TTL_S, Granted, LeaseLock
from rumpus.recipes.promises import Promises
from rumpus.recipes.servers import Servers


class EtcdLock(LeaseLock):
    """See the module."""

    system: ClassVar[str] = "etcd"
    library: ClassVar[str] = "etcd3gw"
    promises: ClassVar[Promises] = Promises(
        prevents=LEASE | {"token-regression"},
        tokens=True,
        notes="Order is not promised. A holder that is frozen between a look and its action can "
        "act after the lease has passed on: let the resource check tokens.",
    )

    bound: ClassVar[bool] = True
    """Whether the key ends with the lease."""

    def __init__(self, servers: Servers, path: str, **options: Any) -> None:
        super().__init__(servers, path, **options)
        self._access = EtcdAccess(servers)

    def _try(self, owner: int) -> Granted | None:
        with self._access.asking() as etcd:
            lease = etcd.lease(ttl=round(TTL_S))
        request = put(self._key, str(owner), lease.id if self.bound else None)
        try:
            answer = self._access.transaction([created_at(self._key, 0)], [request])
        except LeaseGone:
            return None
        if answer.get("succeeded"):
            return Granted(revision_of(answer))
        with self._access.asking():
            lease.revoke()
        return None

    def _remove(self, owner: int) -> bool:
        ours = {"key": encoded(self._key), "target": "VALUE", "value": encoded(str(owner))}
        return bool(self._access.transaction([ours], [delete(self._key)]).get("succeeded"))

    def left(self) -> list[str]:
        """The key, if it is there."""
        with self._access.asking() as etcd:
            return [self._key] if etcd.get(self._key) else []
