"""A counter to which each addition is added exactly once."""

from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter

__all__ = ["AdditionUnknown", "Counter"]
