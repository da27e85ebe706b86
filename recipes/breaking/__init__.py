"""Locks that others can take from a holder that hangs or has died."""

from rumpus.recipes.breaking.breakable_lock import (
    BlacklistLock,
    IdentityLock,
    ServiceBlacklistLock,
)

__all__ = ["BlacklistLock", "IdentityLock", "ServiceBlacklistLock"]
