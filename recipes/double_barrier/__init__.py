"""A double barrier: all go in together, and all go out together."""

from rumpus.recipes.double_barrier.counted_barrier import DoubleBarrier, NotInside

__all__ = ["DoubleBarrier", "NotInside"]
