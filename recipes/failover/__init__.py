"""A replicated database with an elected primary."""

from rumpus.recipes.failover.client import FailoverClient
from rumpus.recipes.failover.database import FailoverDatabase

__all__ = ["FailoverClient", "FailoverDatabase"]
