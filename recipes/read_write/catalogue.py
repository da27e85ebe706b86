"""Read-write locks."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.read_write.faulty_read_write_locks import (
    BargingReaders,
    BelievesForGoodReadWriteLock,
    CountsWritesLock,
    FirstSessionOnlyReadWriteLock,
    HalvesTimeoutReadWriteLock,
    HastyWriter,
    IgnoresTimeoutReadWriteLock,
    KeepsPlaceReadWriteLock,
    MislabelledWriter,
    NeverHeldReadWriteLock,
    NotifiedOnlyLock,
    PersistentNodeReadWriteLock,
    WatchesFirstReadWriteLock,
    WriterAmongReaders,
)
from rumpus.recipes.read_write.kazoo_read_write_lock import KazooReadWriteLock
from rumpus.recipes.read_write.read_write_lock import ReadWriteLock
from rumpus.recipes.read_write.revocable_lock import RevocableReadWriteLock

READ_WRITE_LOCKS: Final[Mapping[str, type[ReadWriteLock]]] = {
    "fair": ReadWriteLock,
    "revocable": RevocableReadWriteLock,
    "kazoo": KazooReadWriteLock,
    "barging-readers": BargingReaders,
    "mislabelled-writer": MislabelledWriter,
    "writer-among-readers": WriterAmongReaders,
    "hasty-writer": HastyWriter,
    "notified-only": NotifiedOnlyLock,
    "persistent-node": PersistentNodeReadWriteLock,
    "keeps-place": KeepsPlaceReadWriteLock,
    "watches-first": WatchesFirstReadWriteLock,
    "first-session-only": FirstSessionOnlyReadWriteLock,
    "counts-writes": CountsWritesLock,
    "believes-for-good": BelievesForGoodReadWriteLock,
    "never-held": NeverHeldReadWriteLock,
    "ignores-timeout": IgnoresTimeoutReadWriteLock,
    "halves-timeout": HalvesTimeoutReadWriteLock,
}
