"""kazoo's own Semaphore as most users call it; only the recommended state listener is added.

As ``recipes.lock.kazoo_bare_lock``: leases that a failed acquire leaves behind are not removed.
"""

from typing import ClassVar

from rumpus.recipes.lock.kazoo_bare_lock import KazooBareContest
from rumpus.recipes.lock.kazoo_lock import KAZOO_NOTES
from rumpus.recipes.promises import Promises
from rumpus.recipes.semaphore.contest_semaphore import Semaphore
from rumpus.recipes.semaphore.kazoo_semaphore import KazooSemaphore, KazooSemaphoreContest


class KazooBareSemaphoreContest(KazooBareContest, KazooSemaphoreContest):
    """kazoo contends; leases that a failed acquire leaves behind are not removed."""


class KazooBareSemaphore(Semaphore):
    """``kazoo.recipe.lock.Semaphore``, a new one each time; see the module."""

    contest = KazooBareSemaphoreContest
    promises: ClassVar[Promises] = Promises(
        prevents=KazooSemaphore.promises.prevents, notes=KAZOO_NOTES + "No tokens."
    )
