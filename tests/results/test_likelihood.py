from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.results.likelihood import LEAST_STEP, Likelihood, Moment
from rumpus.results.likelihood_file import read_likelihood, write_likelihood
from rumpus.results.store_error import UnreadableRun


def likelihood(*failed, futures=10):
    moments = (Moment(at=float(at), futures=futures, failed=f) for at, f in enumerate(failed))
    return Likelihood(failure="deadlock of acquire", moments=tuple(moments))


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 3), st.integers(7, 10))
def test_the_step_is_where_the_share_rises(before, after, low, high):
    curve = likelihood(*[low] * before, *[high] * after)
    assert curve.step() == (before - 1, before)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=8))
def test_a_curve_that_falls_has_no_step(failed):
    assert likelihood(*sorted(failed, reverse=True)).step() is None


@pytest.mark.parametrize("failed", [(5,), (5, 5, 6), (0, 0, 2), (10, 10)])
def test_there_is_no_step_where_nothing_rises_much(failed):
    assert likelihood(*failed).step() is None


def test_one_odd_moment_does_not_move_the_step():
    assert likelihood(0, 4, 0, 0, 9, 6, 10).step() == (3, 4)


@given(st.lists(st.integers(0, 10), min_size=2, max_size=12))
def test_the_step_is_that_of_the_least_squares(failed):
    shares = [each / 10 for each in failed]
    halves = {place: (shares[:place], shares[place:]) for place in range(1, len(shares))}
    rises = {place: fmean(after) - fmean(before) for place, (before, after) in halves.items()}
    errors = {
        place: sum(sum((share - fmean(side)) ** 2 for share in side) for side in sides)
        for place, sides in halves.items()
    }
    found = likelihood(*failed).step()
    if clear := [error for place, error in errors.items() if rises[place] > LEAST_STEP + 1e-9]:
        assert found is not None
        assert errors[int(found[1])] <= min(clear) + 1e-9
    assert found is None or rises[int(found[1])] > LEAST_STEP - 1e-9


def test_a_file_of_many_moments_takes_no_time():
    moments = [Moment(at=float(at), futures=1, failed=at // 12_000) for at in range(24_000)]
    assert Likelihood(failure="deadlock", moments=tuple(moments)).step() == (11_999, 12_000)


@pytest.mark.parametrize(
    "moment",
    [
        '"at":1e308,"futures":1,"failed":1',
        '"at":-1,"futures":1,"failed":1',
        '"at":1,"futures":1,"failed":2',
        '"at":1,"futures":-1,"failed":-1',
        '"at":1,"futures":1' + "0" * 400 + ',"failed":1' + "0" * 400,
    ],
)
def test_what_cannot_be_is_refused(tmp_path, moment):
    path = tmp_path / "likelihood.json"
    path.write_text('{"failure":"deadlock","moments":[{' + moment + "}]}")
    with pytest.raises(UnreadableRun, match=r"malformed.*remove it"):
        read_likelihood(path)


def test_the_file_keeps_it(tmp_path):
    path = tmp_path / "likelihood.json"
    assert read_likelihood(path) is None
    write_likelihood(path, likelihood(0, 9))
    assert read_likelihood(path) == likelihood(0, 9)
    path.write_text("{}")
    with pytest.raises(UnreadableRun, match=r"malformed.*remove it"):
        read_likelihood(path)
