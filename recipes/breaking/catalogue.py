"""Locks that can be taken from a holder that hangs or has died."""

from collections.abc import Mapping
from typing import Final

from rumpus.recipes.breaking.breakable_lock import BlacklistLock, BreakableLock, IdentityLock
from rumpus.recipes.breaking.faulty_breakable_locks import (
    BlacklistDeletesLock,
    ClaimsRemovalLock,
    CountsGrantsBreakable,
    FirstSessionOnlyBreakable,
    FreesFirstLock,
    HalvesTimeoutBreakable,
    IgnoresTimeoutBreakable,
    KeepsPlaceBreakable,
    NeverHeldBreakable,
    NoIncarnationLock,
    NotificationsOnlyLock,
    PersistentNodeBreakable,
    RefusesReentryBreakable,
    ReusedPathLock,
    SortsByNameBreakable,
    TellsNobodyLock,
    WatchesFirstBreakable,
)
from rumpus.recipes.breaking.published_breakable_locks import CooperativeBlacklistLock

BREAKABLE_LOCKS: Final[Mapping[str, type[BreakableLock]]] = {
    "blacklist": BlacklistLock,
    "by-identity": IdentityLock,
    "blacklist-deletes": BlacklistDeletesLock,
    "notifications-only": NotificationsOnlyLock,
    "tells-nobody": TellsNobodyLock,
    "frees-first": FreesFirstLock,
    "reused-path": ReusedPathLock,
    "no-incarnation": NoIncarnationLock,
    "persistent-node": PersistentNodeBreakable,
    "first-session-only": FirstSessionOnlyBreakable,
    "keeps-place": KeepsPlaceBreakable,
    "claims-removal": ClaimsRemovalLock,
    "sorts-by-name": SortsByNameBreakable,
    "watches-first": WatchesFirstBreakable,
    "counts-grants": CountsGrantsBreakable,
    "never-held": NeverHeldBreakable,
    "refuses-reentry": RefusesReentryBreakable,
    "ignores-timeout": IgnoresTimeoutBreakable,
    "halves-timeout": HalvesTimeoutBreakable,
    "cooperative-blacklist": CooperativeBlacklistLock,
}
