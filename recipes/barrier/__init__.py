"""A barrier that blocks all waiters until it is removed."""

from rumpus.recipes.barrier.node_barrier import Barrier

__all__ = ["Barrier"]
