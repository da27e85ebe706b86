import pytest


def test_waiting_ends_when_the_condition_holds(make_world):
    world = make_world()
    assert world.context().until(lambda: world.clock.now >= 1, 5)
    assert world.clock.now == pytest.approx(1, abs=0.06)


def test_waiting_ends_at_the_bound(make_world):
    world = make_world()
    assert not world.context().until(lambda: False, 5)
    assert world.clock.now == pytest.approx(5, abs=0.06)


def test_the_condition_is_looked_at_even_when_there_is_no_time(make_world):
    assert make_world().context().until(lambda: True, 0)


def test_in_a_hurry_there_is_one_look(make_world):
    world = make_world()
    context = world.context()
    context.hurried = lambda: True
    looks = []
    assert not context.until(lambda: bool(looks.append(1)), 5)
    assert len(looks) == 1
    assert world.clock.now == 0


def test_no_wait_goes_on_after_the_latest_moment(make_world):
    world = make_world()
    context = world.context()
    context.latest = 0.07
    assert not context.until(lambda: False, 5)
    assert world.clock.now == pytest.approx(0.07, abs=0.002)


def test_a_wait_ends_where_less_than_the_clock_can_tell_is_left(make_world):
    """A clock of nanoseconds does not move by less: a sleep of that length would pass no time."""
    world = make_world()
    context = world.context()
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        assert len(naps) < 100, "it waits for ever"
        world.clock.sleep(round(seconds * 1e9) / 1e9)

    context.sleep = sleep
    context.latest = 0.1 + 1e-13
    assert not context.until(lambda: False, 5)
