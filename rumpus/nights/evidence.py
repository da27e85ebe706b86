"""Statistics: how sure a rate is, and whether two samples differ. Pure functions."""

import math
from collections.abc import Iterable
from typing import Self

import msgspec


class Moments(msgspec.Struct, frozen=True):
    """A sample of logarithms, by the sums that its mean and its variance need.

    Sums of parts add up to those of the whole, so that samples can be joined without their values.

    Args:
        count: how many values.
        total: the sum of their natural logarithms.
        squares: the sum of the squares of these.
    """

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """The moments of values; those that are not positive have no logarithm and are left out."""
        logs = [math.log(each) for each in values if each > 0 and math.isfinite(each)]
        return cls(len(logs), math.fsum(logs), math.fsum(each * each for each in logs))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )

    @property
    def mean(self) -> float:
        """The mean of the logarithms; NaN of none."""
        return self.total / self.count if self.count else math.nan

    @property
    def variance(self) -> float:
        """The unbiased variance of the logarithms; NaN of fewer than two."""
        if self.count < 2:
            return math.nan
        return max(0.0, self.squares - self.total * self.mean) / (self.count - 1)
