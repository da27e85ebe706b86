"""Locks."""

from collections.abc import Mapping
from typing import Final

from recipes.faulty.locks import (
    NoLookupLock,
    NoRecheckLock,
    PersistentNodeLock,
    ReleaseByPathLock,
    WatchFirstLock,
)
from recipes.faulty.validity_locks import (
    CountdownLock,
    CountsFromAnswerLock,
    ValidByPingsLock,
)
from recipes.kazoo_lock import KazooLock
from recipes.lock import ContestLock, FairLock, UnfairLock
from recipes.validity_lock import ValidityLock

LOCKS: Final[Mapping[str, type[ContestLock]]] = {
    "fair": FairLock,
    "unfair": UnfairLock,
    "validity": ValidityLock,
    "kazoo": KazooLock,
    "persistent-node": PersistentNodeLock,
    "no-recheck": NoRecheckLock,
    "watch-first": WatchFirstLock,
    "release-by-path": ReleaseByPathLock,
    "no-lookup": NoLookupLock,
    "valid-by-pings": ValidByPingsLock,
    "counts-from-answer": CountsFromAnswerLock,
    "countdown": CountdownLock,
}
