import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.timeline.clock import WallClock

SECOND = 1_000_000_000


def test_one_reading_is_an_offset():
    assert WallClock([(5 * SECOND, 1000 * SECOND)]).monotonic(1_001_000) == 6 * SECOND


def test_between_readings_it_interpolates():
    # The wall clock was slewed: it ran 10 s while the monotonic clock ran 20 s.
    clock = WallClock([(0, 0), (20 * SECOND, 10 * SECOND)])
    assert clock.monotonic(5_000) == 10 * SECOND
    assert clock.monotonic(12_000) == 22 * SECOND


def test_no_reading_is_refused():
    with pytest.raises(ValueError, match="no reading of the clocks"):
        WallClock([])


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=5, unique=True),
    st.lists(st.integers(0, 10**6), min_size=2, max_size=10),
)
def test_it_never_goes_back(walls, times_ms):
    walls = sorted(walls)
    clock = WallClock([(2 * wall + 7, wall) for wall in walls])
    mapped = [clock.monotonic(ms) for ms in sorted(times_ms)]
    assert mapped == sorted(mapped)


def test_it_is_sure_of_times_around_which_the_clock_ran_steadily():
    slewed = WallClock([(0, 0), (SECOND, SECOND + 2_000_000)])
    assert all(slewed.sure_of(ms) for ms in (-5, 0, 500, 1002, 9000))
    assert slewed.steady


def test_it_is_not_sure_of_times_near_which_the_clock_was_set():
    for jump in (SECOND, -SECOND // 4):
        readings = [(0, 0), (60, 60), (60.5, 60.5 + jump / SECOND), (90, 90 + jump / SECOND)]
        clock = WallClock((int(m * SECOND), int(w * SECOND)) for m, w in readings)
        assert clock.sure_of(30_000)
        assert not clock.sure_of(60_100)
        assert clock.sure_of(80_000)
        assert not clock.steady
        assert clock.monotonic(30_000) == 30 * SECOND


def test_it_is_sure_of_nothing_once_the_clock_went_back():
    clock = WallClock([(0, 0), (10 * SECOND, 10 * SECOND), (11 * SECOND, 5 * SECOND)])
    assert not any(clock.sure_of(ms) for ms in (-1, 3_000, 7_000, 12_000))
    assert not clock.steady
