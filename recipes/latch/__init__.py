"""A countdown latch."""

from rumpus.recipes.latch.tally_latch import Latch

__all__ = ["Latch"]
