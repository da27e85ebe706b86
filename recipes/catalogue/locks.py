"""Locks."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.delayed_lock import DelayedLock
from rumpus.recipes.faulty.delayed_locks import DelayAfterReleaseLock, DelaySinceTakenLock
from rumpus.recipes.faulty.fenced_locks import (
    LocalCounterLock,
    LookThenWriteLock,
    MemoryFenceLock,
    RefusesEqualLock,
)
from rumpus.recipes.faulty.locks import (
    HalvesTimeoutLock,
    IgnoresTimeoutLock,
    KeepsPlaceLock,
    NeverHeldLock,
    NoLookupLock,
    NoRecheckLock,
    PersistentNodeLock,
    RefusesReentryLock,
    ReleaseByPathLock,
    SortsByNameLock,
    WatchFirstLock,
)
from rumpus.recipes.faulty.sequencer_locks import VerifiedByPathLock, VerifiedOnceLock
from rumpus.recipes.faulty.validity_locks import (
    CountdownLock,
    CountsFromNowLock,
)
from rumpus.recipes.fenced_lock import FencedLock
from rumpus.recipes.kazoo_bare_lock import KazooBareLock
from rumpus.recipes.kazoo_lease import KazooLease
from rumpus.recipes.kazoo_lock import KazooLock
from rumpus.recipes.lock import ContestLock, FairLock, UnfairLock
from rumpus.recipes.published.locks import TrustsItsMapLock, WatchesParentLock
from rumpus.recipes.sequencer import SequencerLock
from rumpus.recipes.validity_lock import ValidityLock

LOCKS: Final[Mapping[str, type[ContestLock]]] = {
    "fair": FairLock,
    "unfair": UnfairLock,
    "validity": ValidityLock,
    "fenced": FencedLock,
    "lock-delay": DelayedLock,
    "sequencer": SequencerLock,
    "kazoo": KazooLock,
    "kazoo-bare": KazooBareLock,
    "kazoo-lease": KazooLease,
    "persistent-node": PersistentNodeLock,
    "no-recheck": NoRecheckLock,
    "watch-first": WatchFirstLock,
    "release-by-path": ReleaseByPathLock,
    "no-lookup": NoLookupLock,
    "keeps-place": KeepsPlaceLock,
    "sorts-by-name": SortsByNameLock,
    "never-held": NeverHeldLock,
    "refuses-reentry": RefusesReentryLock,
    "ignores-timeout": IgnoresTimeoutLock,
    "halves-timeout": HalvesTimeoutLock,
    "countdown": CountdownLock,
    "counts-from-now": CountsFromNowLock,
    "local-counter": LocalCounterLock,
    "memory-fence": MemoryFenceLock,
    "look-then-write": LookThenWriteLock,
    "refuses-equal": RefusesEqualLock,
    "delay-after-release": DelayAfterReleaseLock,
    "delay-since-taken": DelaySinceTakenLock,
    "verified-by-path": VerifiedByPathLock,
    "verified-once": VerifiedOnceLock,
    "trusts-its-map": TrustsItsMapLock,
    "watches-parent": WatchesParentLock,
}
