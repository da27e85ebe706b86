"""Locks that can be taken from a holder that hangs or has died."""

from collections.abc import Mapping
from typing import Final

from recipes.breakable_lock import BlacklistLock, BreakableLock, IdentityLock
from recipes.faulty.breakable_locks import (
    BlacklistDeletesLock,
    FreesFirstLock,
    NoIncarnationLock,
    NotificationsOnlyLock,
    ReusedPathLock,
    TellsNobodyLock,
)

BREAKABLE_LOCKS: Final[Mapping[str, type[BreakableLock]]] = {
    "blacklist": BlacklistLock,
    "by-identity": IdentityLock,
    "blacklist-deletes": BlacklistDeletesLock,
    "notifications-only": NotificationsOnlyLock,
    "tells-nobody": TellsNobodyLock,
    "frees-first": FreesFirstLock,
    "reused-path": ReusedPathLock,
    "no-incarnation": NoIncarnationLock,
}
