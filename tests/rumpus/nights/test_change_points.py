"""Alarms over series of nights that were made by hand, or drawn."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.nights.memory.change_points import (
    LEAST_NIGHTS,
    Night,
    figure_alarm,
    rate_alarm,
)
from rumpus.nights.memory.evidence import Moments

QUIET = [Night(0, 200)] * 30


def night(rng, rate, runs=200):
    return Night(sum(rng.random() < rate for _ in range(runs)), runs)


@pytest.mark.parametrize(("was", "now"), [(0.0, 0.01), (0.05, 0.1)])
def test_a_rate_that_grows_is_told_within_five_nights(was, now):
    told = 0
    for seed in range(20):
        rng = Random(seed)
        nights = [night(rng, was) for _ in range(30)] + [night(rng, now) for _ in range(5)]
        alarm = rate_alarm(nights)
        told += alarm is not None
        assert rate_alarm(nights[:30]) is None
        if alarm is not None:
            assert 24 <= alarm.change.first <= alarm.raised
            assert alarm.change.before < alarm.change.after
    assert told >= 19


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.01, 0.1, 0.5]))
def test_nights_of_one_rate_raise_few_alarms(seed, rate):
    rng = Random(seed)
    nights = [night(rng, rate, 50) for _ in range(30)]
    raised = {alarm.raised for k in range(1, 31) if (alarm := rate_alarm(nights[:k])) is not None}
    assert len(raised) <= 3
    for series in (1, 1000):
        assert rate_alarm(nights, series) is None or series == 1 or rate_alarm(nights) is not None


def test_an_alarm_stands_until_there_is_evidence_that_the_rate_is_back():
    nights = [*QUIET, *[Night(8, 200)] * 3]
    assert rate_alarm(nights).change.first == 30
    one_good = [*nights, Night(5, 200)]
    assert rate_alarm(one_good) is not None, "better than before is not back"
    back = [*nights, Night(0, 200)]
    assert rate_alarm(back) is None
    again = [*back, *[Night(0, 200)] * 4, *[Night(8, 200)] * 2]
    assert rate_alarm(again).change.first == 38
    assert rate_alarm(again).change.before < 0.01


def test_many_series_need_more_evidence():
    nights = [*QUIET, Night(3, 200)]
    assert rate_alarm(nights) is not None
    assert rate_alarm(nights, 1_000_000) is None


def test_nights_without_runs_say_nothing():
    assert rate_alarm([]) is None
    assert rate_alarm([Night(0, 0)] * 5) is None
    alarm = rate_alarm([*QUIET, Night(0, 0), Night(8, 200)])
    assert alarm.change.after == pytest.approx(8 / 200)


def figures(rng, mean, count):
    """Nights whose means differ by some 3 %, each of 50 runs."""
    for _ in range(count):
        middle = mean * math.exp(rng.gauss(0, 0.03))
        yield Moments.of(middle * math.exp(rng.gauss(0, 0.2)) for _ in range(50))


@pytest.mark.parametrize("larger_is_worse", [True, False])
def test_a_figure_that_is_worse_by_a_quarter_is_told_within_five_nights(larger_is_worse):
    factor = 1.25 if larger_is_worse else 1 / 1.25
    for seed in range(10):
        rng = Random(seed)
        nights = [*figures(rng, 10, 20), *figures(rng, 10 * factor, 5)]
        alarm = figure_alarm(nights, larger_is_worse=larger_is_worse)
        assert alarm is not None
        assert abs(alarm.change.first - 20) <= 1
        assert alarm.change.after / alarm.change.before == pytest.approx(factor, rel=0.1)
        assert figure_alarm(nights[:20]) is None
        assert figure_alarm(nights, larger_is_worse=not larger_is_worse) is None


def test_a_figure_that_is_worse_by_less_than_a_tenth_is_none():
    same = Moments.of([10.0] * 5)
    assert figure_alarm([*[same] * 20, *[Moments.of([10.8] * 5)] * 5]) is None
    assert figure_alarm([*[same] * 20, *[Moments.of([11.2] * 5)] * 5]) is not None


def test_nights_without_the_figure_are_passed_over():
    same, worse = Moments.of([10.0, 10.1]), Moments.of([20.0, 20.2])
    alarm = figure_alarm([*[same, Moments()] * 6, worse])
    assert (alarm.change.first, alarm.raised) == (12, 12)
    assert figure_alarm([*[same] * (LEAST_NIGHTS - 1), worse]) is None
