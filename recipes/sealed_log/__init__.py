"""Logs in a small replicated store, whose former owners are refused by seals or by tokens."""

from rumpus.recipes.sealed_log.sealed_log import SealedLog
from rumpus.recipes.sealed_log.token_log import TokenLog

__all__ = ["SealedLog", "TokenLog"]
