"""Locks."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.lock.contest_lock import ContestLock, FairLock, UnfairLock
from rumpus.recipes.lock.delayed_lock import DelayedLock
from rumpus.recipes.lock.faulty_delayed_locks import DelayAfterReleaseLock, DelaySinceTakenLock
from rumpus.recipes.lock.faulty_fenced_locks import (
    LocalCounterLock,
    LookThenWriteLock,
    MemoryFenceLock,
    RefusesEqualLock,
)
from rumpus.recipes.lock.faulty_locks import (
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
from rumpus.recipes.lock.faulty_sequencer_locks import VerifiedByPathLock, VerifiedOnceLock
from rumpus.recipes.lock.faulty_validity_locks import (
    CountdownLock,
    CountsFromNowLock,
)
from rumpus.recipes.lock.fenced_lock import FencedLock
from rumpus.recipes.lock.kazoo_bare_lock import KazooBareLock
from rumpus.recipes.lock.kazoo_lease import KazooLease
from rumpus.recipes.lock.kazoo_lock import KazooLock
from rumpus.recipes.lock.published_locks import TrustsItsMapLock, WatchesParentLock
from rumpus.recipes.lock.sequencer import SequencerLock
from rumpus.recipes.lock.validity_lock import ValidityLock

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
