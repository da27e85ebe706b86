"""Read-write locks."""

from collections.abc import Mapping
from typing import Final

from recipes.read_write_lock import ReadWriteLock
from recipes.revocable_lock import RevocableReadWriteLock

READ_WRITE_LOCKS: Final[Mapping[str, type[ReadWriteLock]]] = {
    "fair": ReadWriteLock,
    "revocable": RevocableReadWriteLock,
}
