"""A counter to which every addition is added once."""

from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter

__all__ = ["AdditionUnknown", "Counter"]
