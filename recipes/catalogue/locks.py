"""Locks."""

from collections.abc import Mapping
from typing import Final

from recipes.delayed_lock import DelayedLock
from recipes.faulty.delayed_locks import DelayAfterReleaseLock, DelaySinceTakenLock
from recipes.faulty.fenced_locks import (
    LocalCounterLock,
    LookThenWriteLock,
    MemoryFenceLock,
    RefusesEqualLock,
)
from recipes.faulty.locks import (
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
from recipes.faulty.sequencer_locks import VerifiedByPathLock, VerifiedOnceLock
from recipes.faulty.validity_locks import (
    CountdownLock,
    CountsFromNowLock,
)
from recipes.fenced_lock import FencedLock
from recipes.kazoo_bare_lock import KazooBareLock
from recipes.kazoo_lease import KazooLease
from recipes.kazoo_lock import KazooLock
from recipes.lock import ContestLock, FairLock, UnfairLock
from recipes.published.locks import TrustsItsMapLock, WatchesParentLock
from recipes.sequencer import SequencerLock
from recipes.validity_lock import ValidityLock

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
