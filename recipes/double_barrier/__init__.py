"""A double barrier: members enter together and leave together."""

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside

__all__ = ["DoubleBarrier", "NotInside"]
