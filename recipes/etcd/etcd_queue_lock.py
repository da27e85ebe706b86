"""A fair lock on etcd under a lease that is kept alive: ``concurrency.Mutex`` of etcd's package.

See ``recipes.etcd.etcd_queue``. Unlike ``EtcdLock``, a hold lasts for as long as it is wanted.
"""

from typing import ClassVar

from rumpus.recipes.etcd.etcd_contender import EtcdContender
from rumpus.recipes.leases.lease_lock import LEASE
from rumpus.recipes.promises import Promises


class EtcdQueueLock(EtcdContender):
    """Contenders hold in the order in which they came. See the module."""

    promises: ClassVar[Promises] = Promises(
        prevents=LEASE | {"token-regression", "unfair-grant", "orphan-node"},
        tokens=True,
        notes="A holder that is frozen between a look and its action can act after the lock has "
        "passed on: let the resource check tokens.",
    )

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for the lock, for ever or for ``timeout`` seconds; whether it was granted.

        Raises:
            LockUnknown: the time is over, and a key of ours may be there until its lease ends.
        """
        return self._win(timeout)

    def release(self) -> None:
        """Release; takes at most ``grace`` seconds.

        Raises:
            NotHeld: not held, or the lease had ended.
            LockUnknown: no answer in time; the key ends with its lease.
        """
        self._let_go()

    @property
    def held(self) -> bool:
        """Whether the lease is certain to last, right now."""
        return self.remaining() > 0
