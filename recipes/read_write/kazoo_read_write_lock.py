"""kazoo's own ReadLock and WriteLock behind the interface of the read-write locks here.

They are kazoo's lock with another name for the node and another rule of which nodes block. So this
adapter adds the same as ``recipes.lock.kazoo_lock``.
"""

from typing import ClassVar, Final

from kazoo.recipe.lock import Lock

from rumpus.recipes.lock.contest_lock import ContestLock
from rumpus.recipes.lock.kazoo_lock import KazooContest
from rumpus.recipes.promises import EXCLUSION, LIVENESS, Line, Promises
from rumpus.recipes.read_write.read_write_lock import ReadLock, ReadWriteLock

PROMISES: Final = Promises(
    prevents=EXCLUSION | LIVENESS | {"unaware-holder", "token-regression", "overdue-call"},
    notes=(
        "kazoo promises neither order nor a bound on wake-ups, though its algorithm queues. "
        "Timeouts do not hold while no server is in reach. Nodes that a failed acquire leaves "
        "are removed by the adapter, and a writer's token is read by it: kazoo does neither."
    ),
)


class KazooReadContest(KazooContest):
    """Won by ``kazoo.recipe.lock.ReadLock``."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The children of ``path`` that kazoo's two locks make."""
        return Line(kind="sequential", path=path, mark="lock__", shared="__rlock__")

    def _new_lock(self) -> Lock:
        return self._client.ReadLock(self._path, self._name)


class KazooWriteContest(KazooContest):
    """Won by ``kazoo.recipe.lock.WriteLock``."""

    @classmethod
    def line(cls, path: str) -> Line:
        """The same as a reader's."""
        return KazooReadContest.line(path)

    def _new_lock(self) -> Lock:
        return self._client.WriteLock(self._path, self._name)


class KazooReadLock(ReadLock):
    """``kazoo.recipe.lock.ReadLock``; see the module."""

    contest = KazooReadContest
    promises: ClassVar[Promises] = PROMISES


class KazooWriteLock(ContestLock):
    """``kazoo.recipe.lock.WriteLock``; see the module."""

    contest = KazooWriteContest
    promises: ClassVar[Promises] = PROMISES


class KazooReadWriteLock(ReadWriteLock):
    """Both of kazoo's locks on one path; see the module."""

    reader = KazooReadLock
    writer = KazooWriteLock
    promises: ClassVar[Promises] = PROMISES
