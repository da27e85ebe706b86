"""Read-write locks, also with holders that can be asked to let go."""

from rumpus.recipes.read_write.read_write_lock import ReadWriteLock
from rumpus.recipes.read_write.revocable_lock import RevocableReadWriteLock

__all__ = ["ReadWriteLock", "RevocableReadWriteLock"]
