"""Statistics: how sure a rate is, and whether two samples differ. Pure functions.

Both sides may consist of strata, which are compared one by one and then taken together: a night
that spends more runs on a fragile recipe is not a worse night. With one stratum each function is
the usual one of its name. Intervals are two-sided and have 95 %.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

import msgspec
import numpy as np

LEVEL: Final = 0.05
"""What is less probable than this by chance is evidence."""

Z: Final = 1.959963984540054
"""The normal distribution's quantile of an interval of 95 %."""

_NEGLIGIBLE: Final = 1e-40
"""The ends of a distribution that are less probable are left out."""

_EXACT: Final = 500.0
"""The standard deviation of hits, up to which their distribution is computed. Above, it is the
normal one to a thousandth, and the work would grow with the runs."""

_NORMAL: Final = 1e8
"""The degrees of freedom above which Student's distribution is the normal one, but for rounding."""

_TINY: Final = 1e-300  # in the place of a 0 by which is divided

_SAME: Final = 1 + 1e-7
"""Probabilities that differ by less are the same, but for rounding."""


class Estimate(NamedTuple):
    """A value and its interval of 95 %."""

    value: float
    low: float
    high: float


class Table(NamedTuple):
    """How many of how many, on two sides."""

    a_hits: int
    a_runs: int
    b_hits: int
    b_runs: int


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
        spread = self.squares - self.total * self.mean
        # What is left of equal values is rounding.
        return spread / (self.count - 1) if spread > 1e-12 * (1 + self.squares) else 0.0


def wilson(hits: int, runs: int) -> Estimate:
    """A rate with Wilson's score interval; of no runs, the interval from 0 to 1 around NaN.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    if not runs:
        return Estimate(math.nan, 0.0, 1.0)
    rate, share = hits / runs, Z * Z / runs
    middle = (rate + share / 2) / (1 + share)
    reach = Z * math.sqrt(rate * (1 - rate) / runs + share / (4 * runs)) / (1 + share)
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == runs else min(1.0, middle + reach)
    return Estimate(rate, low, high)


def difference(strata: Sequence[Table]) -> Estimate:
    """By how much the rate is higher on side B, with Newcombe's interval.

    Strata are weighted as Mantel and Haenszel do, by a * b / (a + b) of their runs. The interval
    of the sum is made of Wilson's intervals of all rates as Zou and Donner show.

    R. G. Newcombe, "Interval estimation for the difference between independent proportions", 1998,
    method 10; G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures",
    2008.

    Args:
        strata: tables with runs on both sides, at least one.
    """
    weights = _weights([(each.a_runs, each.b_runs) for each in strata])
    value = below = above = 0.0
    for weight, table in zip(weights, strata, strict=True):
        a, b = wilson(table.a_hits, table.a_runs), wilson(table.b_hits, table.b_runs)
        value += weight * (b.value - a.value)
        below += weight**2 * ((b.value - b.low) ** 2 + (a.high - a.value) ** 2)
        above += weight**2 * ((b.high - b.value) ** 2 + (a.value - a.low) ** 2)
    return Estimate(value, value - math.sqrt(below), value + math.sqrt(above))


def fisher(strata: Sequence[Table]) -> float:
    """How probable it is that rates that are the same differ as much as these: Fisher's exact test.

    Two-sided: all outcomes count that are at most as probable as what was observed. With several
    strata the hits of side A are summed, and their distribution is that of the sum. If that is as
    wide as only millions of runs make it, it is taken as normal, with a correction for continuity.

    R. A. Fisher, "Statistical Methods for Research Workers", 1934; for strata M. Zelen, "The
    analysis of several 2 x 2 contingency tables", 1971.
    """
    centres = [_centre(table) for table in strata]
    width = math.sqrt(sum(variance for _, variance in centres))
    if width > _EXACT:
        apart = abs(sum(table.a_hits for table in strata) - sum(mean for mean, _ in centres))
        return math.erfc(max(0.0, apart - 0.5) / (width * math.sqrt(2)))
    first, chances = 0, np.ones(1)
    for table in strata:
        least, more = _hypergeometric(table)
        chances = np.convolve(chances, more)
        first += least
        kept = np.flatnonzero(chances > _NEGLIGIBLE)
        first, chances = first + int(kept[0]), chances[kept[0] : kept[-1] + 1]
    place = sum(each.a_hits for each in strata) - first
    observed = chances[place] if 0 <= place < len(chances) else 0.0
    return min(1.0, float(chances[chances <= observed * _SAME].sum()))


def _centre(table: Table) -> tuple[float, float]:
    """The mean and the variance of the hits that side A has by chance."""
    hits, runs = table.a_hits + table.b_hits, table.a_runs + table.b_runs
    mean = hits * table.a_runs / runs
    if runs < 2:
        return mean, 0.0
    return mean, mean * (runs - hits) / runs * table.b_runs / (runs - 1)


def _hypergeometric(table: Table) -> tuple[int, "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    """The least hits of side A that are not negligible, and the probabilities of these and more.

    The hits are distributed as a sum of independent events, so Bernstein's inequality says how far
    from their mean the rest is less probable than `_NEGLIGIBLE`.
    """
    hits, runs = table.a_hits + table.b_hits, table.a_runs + table.b_runs
    mean, variance = _centre(table)
    rare = -math.log(_NEGLIGIBLE)
    reach = rare / 3 + math.sqrt((rare / 3) ** 2 + 2 * rare * variance)
    least = max(0, hits - table.b_runs, math.floor(mean - reach))
    most = min(hits, table.a_runs, math.ceil(mean + reach))
    count = np.arange(least, most, dtype=np.float64)
    # The quotients of neighbours, whose products are exact where factorials are too large.
    up = np.log(hits - count) + np.log(table.a_runs - count)
    down = np.log(count + 1) + np.log(runs - hits - table.a_runs + count + 1)
    logs = np.concatenate([[0.0], np.cumsum(up - down)])
    chances = np.exp(logs - logs.max())
    return least, chances / chances.sum()


class Ratio(NamedTuple):
    """By what factor a figure is larger on side B, and how probable that is if it is the same."""

    factor: Estimate
    probability: float


def welch(strata: Sequence[tuple[Moments, Moments]]) -> Ratio | None:
    """The ratio of two geometric means, by Welch's t-test of the logarithms.

    Strata have weights that depend on their sizes alone. The degrees of freedom of the sum are
    Satterthwaite's.

    B. L. Welch, "The generalization of 'Student's' problem when several different population
    variances are involved", 1947; F. E. Satterthwaite, "An approximate distribution of estimates
    of variance components", 1946.

    Args:
        strata: sides A and B of each; those with fewer than two values on a side are left out.

    Returns:
        None if no stratum is left. Where no value differs from the others of its side there is no
        variance to compare with: the probability is then that of such a sorting by chance.
    """
    fit = [(a, b) for a, b in strata if a.count > 1 and b.count > 1]
    if not fit:
        return None
    value = variance = spread = 0.0
    for weight, (a, b) in zip(_weights([(a.count, b.count) for a, b in fit]), fit, strict=True):
        value += weight * (b.mean - a.mean)
        for side in (a, b):
            part = weight**2 * side.variance / side.count
            variance += part
            spread += part**2 / (side.count - 1)
    if not variance:
        same = abs(value) < 1e-9
        sortings = sum(_log_sortings(a.count, b.count) for a, b in fit)
        exact = Estimate(_exp(value), _exp(value), _exp(value))
        return Ratio(exact, 1.0 if same else min(1.0, 2 * math.exp(-sortings)))
    freedom, error = variance**2 / spread, math.sqrt(variance)
    reach = student_quantile(freedom) * error
    factor = Estimate(_exp(value), _exp(value - reach), _exp(value + reach))
    return Ratio(factor, student(value / error, freedom))


def geometric_mean(sample: Moments) -> Estimate:
    """The geometric mean of a sample, with Student's interval; of one value, any could be true."""
    if sample.count < 2:
        return Estimate(_exp(sample.mean) if sample.count else math.nan, 0.0, math.inf)
    reach = student_quantile(sample.count - 1) * math.sqrt(sample.variance / sample.count)
    return Estimate(_exp(sample.mean), _exp(sample.mean - reach), _exp(sample.mean + reach))


def _log_sortings(a: int, b: int) -> float:
    """The logarithm of how many ways there are to sort values to two sides of these sizes."""
    return math.lgamma(a + b + 1) - math.lgamma(a + 1) - math.lgamma(b + 1)


def _exp(value: float) -> float:
    # Two values may leave any factor possible; its reciprocal is one, too.
    return math.exp(max(-700.0, min(value, 700.0)))


def student(t: float, freedom: float) -> float:
    """How probable a value of Student's distribution is that is at least so far from 0."""
    if freedom > _NORMAL:
        return math.erfc(abs(t) / math.sqrt(2))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@functools.lru_cache(maxsize=4096)
def student_quantile(freedom: float) -> float:
    """What a value of Student's distribution exceeds in absolute terms in 5 % of cases."""
    if freedom > _NORMAL:
        return Z
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    scale -= math.log(freedom * math.pi) / 2
    t = Z
    # Newton's method: the probability falls, ever more slowly, so that no step leads too far.
    for _ in range(100):
        density = math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (student(t, freedom) - LEVEL) / (2 * density)
        t += step
        if abs(step) < 1e-11 * t:
            break
    return t


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction.

    NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d or _TINY)
            c = 1 + term / c or _TINY
            value *= c * d
        if abs(value - before) < 1e-15 * abs(value):
            break
    return math.exp(front) * value / a


def holm(probabilities: Sequence[float]) -> list[float]:
    """Probabilities corrected for how many there are: each below 0.05 is evidence by itself.

    S. Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    count = len(probabilities)
    order = sorted(range(count), key=probabilities.__getitem__)
    adjusted, least = [0.0] * count, 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (count - rank) * probabilities[place]))
        adjusted[place] = least
    return adjusted


def absence(strata: Sequence[Table]) -> float:
    """How probable it is that side B has no hits, if its rates are those that side A has shown."""
    chance = 1.0
    for table in strata:
        if table.a_runs:
            chance *= (1 - table.a_hits / table.a_runs) ** table.b_runs
    return chance


def _weights(sizes: Sequence[tuple[int, int]]) -> list[float]:
    """Mantel and Haenszel's weights of strata, by their sizes on both sides; they sum to 1."""
    raw = [a * b / (a + b) for a, b in sizes]
    return [each / sum(raw) for each in raw]
