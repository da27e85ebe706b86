"""All recipes by family and name, the sound ones first."""

from collections.abc import Mapping
from typing import Final

from recipes.election import ContestElection, FairElection, UnfairElection
from recipes.faulty import (
    BelievesAfterLostElection,
    NoLookupLock,
    NoRecheckLock,
    PersistentNodeLock,
    ReleaseByPathLock,
    WatchFirstLock,
)
from recipes.kazoo_election import KazooElection
from recipes.kazoo_lock import KazooLock
from recipes.lock import ContestLock, FairLock, UnfairLock

LOCKS: Final[Mapping[str, type[ContestLock]]] = {
    "fair": FairLock,
    "unfair": UnfairLock,
    "kazoo": KazooLock,
    "persistent-node": PersistentNodeLock,
    "no-recheck": NoRecheckLock,
    "watch-first": WatchFirstLock,
    "release-by-path": ReleaseByPathLock,
    "no-lookup": NoLookupLock,
}
"""Locks. Those with ``faulty`` have a ``mistake`` and the ``expected`` anomalies."""

ELECTIONS: Final[Mapping[str, type[ContestElection]]] = {
    "fair": FairElection,
    "unfair": UnfairElection,
    "kazoo": KazooElection,
    "believes-after-lost": BelievesAfterLostElection,
}
"""Elections. Those with ``faulty`` have a ``mistake`` and the ``expected`` anomalies."""
