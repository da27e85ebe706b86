"""A latch that opens once it has been counted down to 0."""

from rumpus.recipes.latch.tally_latch import Latch

__all__ = ["Latch"]
