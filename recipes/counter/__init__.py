"""A counter to which every addition is added once."""

from rumpus.recipes.counter.receipt_counter import AdditionUnknown, Counter, TotalUnknown

__all__ = ["AdditionUnknown", "Counter", "TotalUnknown"]
