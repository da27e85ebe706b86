import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.results.likelihood import Likelihood, Moment
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


def test_the_file_keeps_it(tmp_path):
    path = tmp_path / "likelihood.json"
    assert read_likelihood(path) is None
    write_likelihood(path, likelihood(0, 9))
    assert read_likelihood(path) == likelihood(0, 9)
    path.write_text("{}")
    with pytest.raises(UnreadableRun, match=r"malformed.*remove it"):
        read_likelihood(path)
