"""kazoo's own MultiNonBlockingLease behind the interface of the semaphore here.

It tries to obtain one of several ``NonBlockingLease``s, one after the other. As for these
(``recipes.lock.kazoo_lease``) the adapter tries until the lease is true or the time is over, counts
the duration on the monotonic clock, and lets the lease lapse on release.
"""

from datetime import timedelta
from typing import Any, ClassVar

from kazoo.client import KazooClient

from rumpus.recipes.lock.kazoo_lease import DURATION, KazooLease, LeaseContest
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Promises
from rumpus.recipes.semaphore.contest_semaphore import Semaphore


class MultiLeaseContest(LeaseContest):
    """Tries until kazoo has obtained one of the leases."""

    def __init__(
        self, client: KazooClient, path: str, name: str, grace: float, permits: int
    ) -> None:
        super().__init__(client, path, name, grace)
        self._permits = permits

    def _lease(self, holder: str) -> Any:
        return self._client.MultiNonBlockingLease(
            self._permits, self._path, timedelta(seconds=DURATION), identifier=holder
        )


class KazooMultiLease(KazooLease, Semaphore):
    """``kazoo.recipe.lease.MultiNonBlockingLease``; see the module."""

    contest: ClassVar[Any] = MultiLeaseContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS, notes=KazooLease.promises.notes
    )
