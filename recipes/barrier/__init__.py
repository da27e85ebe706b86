"""A barrier that one client sets up, and that holds everybody until it is removed."""

from rumpus.recipes.barrier.node_barrier import Barrier

__all__ = ["Barrier"]
