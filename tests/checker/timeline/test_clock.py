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


@pytest.mark.parametrize(
    ("readings", "steady"),
    [
        ([(5, 1000)], True),
        ([(0, 0), (1, 1.002)], True),
        ([(0, 0), (60, 60), (60.5, 61.5), (90, 91)], False),
        ([(0, 0), (60, 60), (60.5, 60.25), (90, 89.75)], False),
        ([(0, 0), (10, 10), (11, 5)], False),
    ],
)
def test_a_clock_that_was_set_was_not_steady(readings, steady):
    clock = WallClock((int(m * SECOND), int(w * SECOND)) for m, w in readings)
    assert clock.steady == steady
