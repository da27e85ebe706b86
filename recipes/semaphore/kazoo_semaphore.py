"""kazoo's own Semaphore behind the interface of the semaphore here.

kazoo contends, waits and releases. Its algorithm: the holder of an inner lock counts the leases
below ``path``. If there are fewer than permitted it creates its own; else it waits, still holding
the inner lock, until a lease goes. The adapter adds what ``recipes.lock.kazoo_lock`` adds to
kazoo's lock: a listener, so that ``held`` becomes false on SUSPENDED and LOST; a fresh
``kazoo.recipe.lock.Semaphore`` for every acquire; and a clean-up after a failed acquire.

kazoo's requests have no timeout of their own: with no server in reach ``acquire`` and ``release``
block until one is, whatever their timeout.
"""

from typing import Any, ClassVar

from rumpus.recipes.lock.kazoo_lock import KAZOO_NOTES, KazooContest, KazooEntry
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from rumpus.recipes.semaphore.contest_semaphore import Semaphore, SemaphoreContest


class KazooSemaphoreContest(KazooContest, SemaphoreContest):
    """kazoo contends; leases it leaves are found and removed as nodes of other contests are."""

    @classmethod
    def line(cls, path: str) -> Line:
        """All children of ``path``: each is a lease."""
        return Line(kind="pool", path=path)

    def _new_lock(self) -> Any:
        return self._client.Semaphore(self._path, self._name, self._permits)

    def _entry_of(self, lock: Any) -> KazooEntry:
        return KazooEntry(self._client, lock, lock.create_path.rpartition("/")[2])

    def _node_of(self, entry: KazooEntry) -> str:
        return str(entry.lock.create_path)


class KazooSemaphore(Semaphore):
    """``kazoo.recipe.lock.Semaphore``; see the module."""

    contest = KazooSemaphoreContest
    promises: ClassVar[Promises] = Promises(
        prevents=EXCLUSION | LIVENESS | {"unaware-holder", "overdue-call"},
        notes=KAZOO_NOTES + "The adapter removes leases that a failed acquire leaves. No tokens.",
    )
