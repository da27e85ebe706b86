"""From which night on a rate, or a figure, is another one. Pure functions.

A series has one entry for each night. The **evidence** for a change is the logarithm of a Bayes
factor (in nats): how much better a change at some night explains the series than none.

- *Rates*: each part of the series has a rate of its own, with Jeffreys' prior, so that its hits
  have a beta-binomial distribution.
- *Figures*: nights differ by more than the runs of one night do, so each night counts by its
  mean of logarithms, and two parts are compared by the Bayesian two-sample t-test (M. Gönen et al.,
  "The Bayesian two-sample t test", The American Statistician, 2005) with effects of some three
  deviations of the nights.

The night of the change is any with equal prior (D. Barry and J. A. Hartigan, "A Bayesian analysis
for change point problems", 1993, with one change).

An **alarm** is raised by evidence of `RAISE` for a change for the worse; by more where several
series are looked at, each of which could be the one. It is dropped by evidence of `DROP` that the
series has changed again since, to a level nearer to the old one; or when more nights leave no
evidence of the change. The thresholds differ, so that a rate at the edge does not raise an alarm
and drop it every other night.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rumpus.nights.memory.evidence import Moments

RAISE: Final = 1.5
"""The odds for a change grow by e^1.5 = 4.5."""

DROP: Final = 0.75

LONGEST: Final = 60
"""So many nights are looked at: those longer ago say little of today."""

RECENT: Final = 10
"""The change is one of so many last nights: an older one would have raised its alarm before."""

LEAST_NIGHTS: Final = 3
"""Of fewer nights, and one more, nobody knows by how much figures differ."""

LEAST_FACTOR: Final = 1.1
"""By what factor a figure must be worse to be an alarm, beside that there is evidence."""

_EFFECT: Final = 9.0
"""The variance of effects that are expected, in units of that of the nights: three deviations."""

_LEAST_SPREAD: Final = 1e-3
"""Nights differ by a thousandth at least: simulated ones may be all the same."""


class Night(NamedTuple):
    """What a night has seen of a series: how many of how many runs."""

    hits: int
    runs: int


class Split(NamedTuple):
    """A change that explains a series.

    Attributes:
        first: the number of the night with which it begins.
        before: the rate, or the geometric mean of the figure, until then.
        after: the same from then on.
        evidence: for a change at any night.
    """

    first: int
    before: float
    after: float
    evidence: float


class Alarm(NamedTuple):
    """An alarm that stands: the change, and the number of the night by which it was raised."""

    change: Split
    raised: int


Evidence = Callable[[int, int, int], Split | None]
"""The evidence that the nights from one number on and before another one have changed with a third,
``evidence(begin, first, end)``; None if these cannot be compared. Larger values are the worse."""


def rate_alarm(nights: Sequence[Night], series: int = 1) -> Alarm | None:
    """The alarm that stands after the last night of a rate of something bad; None if none does.

    Args:
        nights: oldest first.
        series: how many series are looked at.
    """
    hits = [0, *accumulate(night.hits for night in nights)]
    runs = [0, *accumulate(night.runs for night in nights)]

    if not hits[-1]:
        return None

    def part(begin: int, end: int) -> tuple[int, int]:
        return hits[end] - hits[begin], runs[end] - runs[begin]

    def evidence(begin: int, first: int, end: int) -> Split | None:
        before, after, whole = part(begin, first), part(first, end), part(begin, end)
        if not before[1] or not after[1]:
            return None
        gain = _beta_binomial(*before) + _beta_binomial(*after) - _beta_binomial(*whole)
        return Split(first, before[0] / before[1], after[0] / after[1], gain)

    return _standing(len(nights), evidence, RAISE + math.log(series), least=0.0)


def figure_alarm(
    nights: Sequence[Moments], series: int = 1, *, larger_is_worse: bool = True
) -> Alarm | None:
    """The alarm that stands after the last night of a figure; nights without values are left out.

    Args:
        nights: the logarithms of each night's values, oldest first.
        series: how many series are looked at.
        larger_is_worse: as latencies are; throughput is not.
    """
    places = [number for number, night in enumerate(nights) if night.count]
    sign = 1 if larger_is_worse else -1
    means = [sign * nights[number].mean for number in places]
    sums = [0.0, *accumulate(means)]
    squares = [0.0, *accumulate(mean * mean for mean in means)]

    def mean(begin: int, end: int) -> float:
        return (sums[end] - sums[begin]) / (end - begin)

    def spread(begin: int, end: int) -> float:
        """The sum of the squares of what nights differ from their mean."""
        about = squares[end] - squares[begin] - (end - begin) * mean(begin, end) ** 2
        return max(0.0, about)

    def evidence(begin: int, first: int, end: int) -> Split | None:
        if end - begin <= LEAST_NIGHTS:
            return None
        before, after = mean(begin, first), mean(first, end)
        apart = spread(begin, first) + spread(first, end)
        gain = _t_test(after - before, apart, first - begin, end - first)
        return Split(first, before, after, gain)

    least = math.log(LEAST_FACTOR)
    alarm = _standing(len(places), evidence, RAISE + math.log(series), least=least)
    if alarm is None:
        return None
    change = alarm.change._replace(
        first=places[alarm.change.first],
        before=math.exp(sign * alarm.change.before),
        after=math.exp(sign * alarm.change.after),
    )
    return Alarm(change, places[alarm.raised])


def _standing(count: int, evidence: Evidence, threshold: float, *, least: float) -> Alarm | None:
    """Go through the nights; the alarm that stands at the end.

    Args:
        count: of the nights.
        evidence: of the series.
        threshold: the evidence that raises an alarm.
        least: by how much the level must be worse, beside that there is evidence.
    """
    begin, alarm = 0, None
    for end in range(1, count + 1):
        begin = max(begin, end - LONGEST)
        if alarm is None:
            change = _likeliest(evidence, begin, end)
            if change is not None and change.after - change.before > least:
                alarm = Alarm(change, end - 1) if change.evidence >= threshold else None
            continue
        begin = min(begin, max(0, alarm.change.first - LEAST_NIGHTS))
        still = evidence(begin, alarm.change.first, end)
        back = _likeliest(evidence, alarm.change.first, end)
        if still is None or still.evidence < 0 or still.after <= still.before:
            alarm = None  # it was chance
        elif back is not None and back.evidence >= DROP and _is_back(back.after, alarm.change):
            begin, alarm = back.first, None
        else:
            alarm = alarm._replace(change=still)
    return alarm


def _likeliest(evidence: Evidence, begin: int, end: int) -> Split | None:
    """The likeliest change of the last nights; its evidence is that of any of them."""
    firsts = range(max(begin + 1, end - RECENT), end)
    every = [split for first in firsts if (split := evidence(begin, first, end)) is not None]
    if not every:
        return None
    best = max(every, key=lambda each: each.evidence)
    total = math.fsum(math.exp(each.evidence - best.evidence) for each in every)
    return best._replace(evidence=best.evidence + math.log(total / len(every)))


def _is_back(level: float, change: Split) -> bool:
    """Whether a level is nearer to that before a change than to that after it."""
    return abs(level - change.before) < abs(level - change.after)


def _beta_binomial(hits: int, runs: int) -> float:
    """The logarithm of how probable a sequence with so many hits is, its rate unknown."""
    return _log_beta(hits + 0.5, runs - hits + 0.5) - math.log(math.pi)  # B(1/2, 1/2)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _t_test(apart: float, squares: float, before: int, after: int) -> float:
    """The logarithm of Gönen's Bayes factor.

    Args:
        apart: the difference of the means.
        squares: the sum of the squares of what values differ from the means of their parts.
        before: how many values the first part has.
        after: how many the second part has.
    """
    freedom = before + after - 2
    variance = max(squares / freedom, _LEAST_SPREAD**2)
    size = before * after / (before + after)
    t2, wider = apart * apart * size / variance, 1 + size * _EFFECT
    ratio = math.log1p(t2 / freedom) - math.log1p(t2 / (freedom * wider))
    return (freedom + 1) / 2 * ratio - math.log(wider) / 2
