"""Statistics against their definitions, and against published examples."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rumpus.nights.memory import evidence
from rumpus.nights.memory.evidence import (
    LEVEL,
    Moments,
    Table,
    Z,
    absence,
    difference,
    fisher,
    geometric_mean,
    holm,
    incomplete_beta,
    student,
    student_quantile,
    welch,
    wilson,
)

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=8)


@st.composite
def tables(draw, most=9):
    a, b = draw(st.integers(1, most)), draw(st.integers(1, most))
    return Table(draw(st.integers(0, a)), a, draw(st.integers(0, b)), b)


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_wilsons_limits_are_where_the_rate_is_just_not_refuted(runs, share):
    hits = round(runs * share)
    rate, low, high = wilson(hits, runs)
    assert 0 <= low <= rate <= high <= 1
    for limit in (low, high):
        if 0 < limit < 1:
            distance = abs(rate - limit)
            assert math.isclose(
                distance, Z * math.sqrt(limit * (1 - limit) / runs), rel_tol=1e-6, abs_tol=1e-12
            )


def test_of_no_runs_every_rate_is_possible():
    assert wilson(0, 0)[1:] == (0.0, 1.0)


def test_newcombes_example():
    """56 of 70 and 48 of 80: table II of his paper, method 10."""
    found = difference([Table(48, 80, 56, 70)])
    assert [round(each, 4) for each in found] == [0.2, 0.0524, 0.3339]


@given(st.lists(tables(), min_size=1, max_size=4))
def test_a_difference_lies_in_its_interval_and_turns_with_the_sides(strata):
    value, low, high = difference(strata)
    assert low <= value <= high
    turned = difference([Table(b, bs, a, as_) for a, as_, b, bs in strata])
    assert turned == pytest.approx((-value, -high, -low))
    # Strata that are all the same say the same with more certainty.
    one, four = difference(strata[:1]), difference(strata[:1] * 4)
    assert four.value == pytest.approx(one.value)
    assert four.high - four.low == pytest.approx((one.high - one.low) / 2)


def by_definition(strata):
    """Fisher's test by going through all tables with the same margins."""
    chances = {0: Fraction(1)}
    for a, as_, b, bs in strata:
        hits, more = a + b, {}
        for x in range(max(0, hits - bs), min(hits, as_) + 1):
            chance = Fraction(
                math.comb(as_, x) * math.comb(bs, hits - x), math.comb(as_ + bs, hits)
            )
            for total, before in chances.items():
                more[total + x] = more.get(total + x, 0) + before * chance
        chances = more
    observed = chances[sum(each.a_hits for each in strata)]
    return float(sum(each for each in chances.values() if each <= observed))


@given(st.lists(tables(), min_size=1, max_size=4))
def test_fishers_test_is_what_its_definition_says(strata):
    assert fisher(strata) == pytest.approx(by_definition(strata), rel=1e-9)


def test_fishers_tea():
    assert fisher([Table(3, 4, 1, 4)]) == pytest.approx(34 / 70)


def test_fishers_test_of_very_many_runs():
    assert fisher([Table(50_000, 500_000, 50_000, 500_000)]) == pytest.approx(1.0)
    assert fisher([Table(50_000, 500_000, 51_000, 500_000)]) < 0.01
    assert fisher([Table(0, 10**6, 10**6, 10**6)]) == pytest.approx(0.0, abs=1e-30)


def test_a_change_of_the_mix_is_no_evidence():
    """Side B has more runs of the fragile subject, whose rate is the same."""
    strata = [Table(0, 900, 0, 100), Table(50, 100, 450, 900)]
    assert fisher(strata) > 0.9
    assert fisher([Table(50, 1000, 450, 1000)]) < 1e-9
    assert difference(strata).value == pytest.approx(0)


def students_density(freedom):
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    front = math.exp(log) / math.sqrt(freedom * math.pi)
    return lambda t: front * (1 + t * t / freedom) ** (-(freedom + 1) / 2)


@given(st.floats(0, 30), st.floats(1, 200))
def test_students_distribution_is_the_integral_of_its_density(t, freedom):
    points = np.linspace(0, t, 20_001)
    inside = 2 * np.trapezoid(students_density(freedom)(points), points)
    assert student(t, freedom) == pytest.approx(1 - inside, abs=1e-6)
    assert student(-t, freedom) == student(t, freedom)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (10, 2.2281), (100, 1.9840), (1e7, 1.96)]
)
def test_students_quantiles_are_those_of_the_tables(freedom, quantile):
    assert student_quantile(freedom) == pytest.approx(quantile, abs=1e-4)
    assert student(student_quantile(freedom), freedom) == pytest.approx(LEVEL)


@given(st.floats(0.5, 1e4), st.floats(0.5, 1e4), st.floats(0, 1))
def test_the_incomplete_beta_function_is_symmetric(a, b, x):
    assert incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-6)
    assert incomplete_beta(1, 1, x) == pytest.approx(x)


@given(VALUES, VALUES)
def test_welchs_test_is_what_its_definition_says(first, second):
    a, b = np.log(first), np.log(second)
    assume(a.std() > 1e-3 and b.std() > 1e-3)
    parts = [np.var(each, ddof=1) / len(each) for each in (a, b)]
    t = (b.mean() - a.mean()) / math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(each) - 1) for part, each in zip(parts, (a, b), strict=True)
    )
    found = welch([(Moments.of(first), Moments.of(second))])
    assert found.probability == pytest.approx(student(t, freedom), rel=1e-5, abs=1e-9)
    assert found.factor.value == pytest.approx(math.exp(b.mean() - a.mean()))
    assert found.factor.low <= found.factor.value <= found.factor.high
    surely = found.probability < LEVEL * 0.99
    assert not surely or not found.factor.low < 1 < found.factor.high


def test_strata_are_compared_one_by_one():
    """In each stratum the same; the second is slower, and side B has more of it."""
    fast, slow = [1.0, 1.1, 1.2, 0.9], [10.0, 11.0, 9.0, 10.5]
    apart = welch(
        [(Moments.of(fast * 9), Moments.of(fast)), (Moments.of(slow), Moments.of(slow * 9))]
    )
    mixed = welch([(Moments.of(fast * 9 + slow), Moments.of(fast + slow * 9))])
    assert apart.probability > 0.9
    assert mixed.probability < 1e-6


def test_figures_that_never_vary_are_compared_by_how_many_there_are():
    same = welch([(Moments.of([0.1] * 5), Moments.of([0.1] * 7))])
    assert (same.probability, same.factor.value) == (1.0, pytest.approx(1.0))
    few = welch([(Moments.of([2.0] * 2), Moments.of([3.0] * 2))])
    assert (few.probability, few.factor.value) == (pytest.approx(1 / 3), pytest.approx(1.5))
    many = welch([(Moments.of([2.0] * 20), Moments.of([3.0] * 20))])
    assert many.probability < 1e-9
    assert welch([(Moments.of([2.0]), Moments.of([3.0] * 9))]) is None
    assert welch([(Moments.of([-1.0, 0.0, math.inf]), Moments.of([3.0] * 9))]) is None
    wide = welch([(Moments.of([1e-300, 1e300]), Moments.of([1.0, 2.0]))])
    assert wide.factor.high > 1e300


@given(VALUES, VALUES)
def test_moments_of_parts_add_up(first, second):
    whole, sum_ = Moments.of(first + second), Moments.of(first) + Moments.of(second)
    assert sum_.count == whole.count
    assert sum_.mean == pytest.approx(whole.mean, abs=1e-9)
    assert sum_.variance == pytest.approx(np.var(np.log(first + second), ddof=1), abs=1e-9)
    assert math.isnan(Moments.of([1.0]).variance)
    assert math.isnan(Moments().mean)


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holms_correction_rejects_as_he_describes(probabilities):
    """The smallest is held against 0.05 / n, the next against 0.05 / (n - 1), up to the first."""
    rejected, left = set(), sorted(range(len(probabilities)), key=probabilities.__getitem__)
    for rank, place in enumerate(left):
        if probabilities[place] * (len(left) - rank) > LEVEL:
            break
        rejected.add(place)
    adjusted = holm(probabilities)
    assert {i for i, each in enumerate(adjusted) if each <= LEVEL} == rejected
    assert all(a >= p for a, p in zip(adjusted, probabilities, strict=True))
    for (p, a), (q, b) in itertools.combinations(zip(probabilities, adjusted, strict=True), 2):
        assert (p <= q and a <= b) or (p >= q and a >= b)


def test_absence_is_likely_or_not_by_the_rate_that_was_seen():
    assert absence([Table(1, 2, 0, 3)]) == 0.125
    assert absence([Table(1, 2, 0, 1), Table(1, 4, 0, 1), Table(0, 0, 0, 9)]) == 0.375
    assert absence([Table(2, 2, 0, 1)]) == 0
    assert absence([]) == 1


def test_statistics_of_all_the_runs_that_a_store_can_have_are_told():
    """Each stratum has ten million runs on both sides, and there are as many as subjects.

    If the work grew with the runs, this would take minutes and gigabytes.
    """
    most = 10**7
    tables = [Table(most // 2, most, most // 2, most)] * 300
    rare = [Table(1, most, 9, most)] * 300
    worse = [*tables, Table(most // 2, most, most // 2 + 200_000, most)]
    wide = (Moments(most, 0.0, 0.0), Moments(most, 0.0, 0.0))
    spread = (Moments(most, 0.0, 2.0 * most), Moments(most, 0.0, 1.0 * most))
    assert fisher(tables) == 1.0
    assert fisher(rare) < 1e-9
    assert fisher(worse) < 1e-5
    assert welch([wide] * 300).probability == 1.0
    assert welch([spread] * 300).probability == pytest.approx(1.0)
    student_quantile.cache_clear()
    assert geometric_mean(spread[0]).value == 1.0
    assert student_quantile(1e12) == pytest.approx(student_quantile(1e8), rel=1e-7)


@given(st.lists(tables(most=4000), min_size=1, max_size=3), st.sampled_from([1, 30]))
def test_the_normal_distribution_is_close_to_the_exact_one(strata, size):
    large = [Table(*(size * each for each in table)) for table in strata]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evidence, "_EXACT", math.inf)
        exact = fisher(large)
        patched.setattr(evidence, "_EXACT", 30.0)
        assert fisher(large) == pytest.approx(exact, rel=0.05, abs=1e-4)


def test_a_factor_has_a_reciprocal_however_far_apart_figures_are():
    low, high = Moments.of([5e-324] * 30), Moments.of([1.7e308] * 30)
    for pair in [(low, high), (high, low)]:
        factor = welch([pair]).factor.value
        assert 0 < 1 / factor < math.inf
