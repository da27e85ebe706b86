"""A replicated database whose primary is elected."""

from rumpus.recipes.failover.client import FailoverClient
from rumpus.recipes.failover.database import FailoverDatabase

__all__ = ["FailoverClient", "FailoverDatabase"]
