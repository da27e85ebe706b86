"""Timeouts of one task share alarms, and none comes early or late for it."""

import pytest

from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator


@pytest.fixture
def simulator():
    simulator = Simulator(1)
    yield simulator
    simulator.close()


def test_each_wait_ends_at_its_own_time(simulator):
    """Shorter and longer ones than the alarms that are set already, in every order."""
    waits = [500, 3, 3, 700, 20, 1, 1000, 400, 2, 600]
    late = []

    def wait():
        for wait in waits:
            began = simulator.now
            assert not task.park(wait * MILLISECOND)
            late.append(simulator.now - began - wait * MILLISECOND)

    task = simulator.process("p").spawn(wait)
    simulator.run(10 * SECOND)
    assert not simulator.failures
    assert len(late) == len(waits)
    assert all(0 <= nanoseconds < MILLISECOND for nanoseconds in late)


def test_an_alarm_of_an_earlier_wait_ends_no_later_one(simulator):
    ends = []

    def wait():
        for timeout in (100, 100, 50, 100):
            woken = task.park(timeout * MILLISECOND)
            ends.append((woken, round(simulator.now / MILLISECOND)))

    task = simulator.process("p").spawn(wait)
    for time in (40, 90):
        simulator.call_at(time * MILLISECOND, lambda _: task.wake())
    simulator.run(SECOND)
    assert ends == [(True, 40), (True, 90), (False, 140), (False, 240)]


def test_waits_that_are_over_early_cost_no_event_each(simulator):
    def sleep():
        while True:
            sleeper.park(SECOND)

    def wake():
        for _ in range(1000):
            sleeper.wake()
            waker.park(MILLISECOND // 10)

    process = simulator.process("p")
    sleeper, waker = process.spawn(sleep), process.spawn(wake)
    simulator.run(SECOND // 2)
    assert simulator.events < 1100
    before = simulator.events
    simulator.run(10 * SECOND)
    assert simulator.events - before < 20


def test_a_wait_without_an_end_is_not_ended_by_an_alarm(simulator):
    def wait():
        task.park(SECOND)
        assert task.park()

    task = simulator.process("p").spawn(wait)
    simulator.call_at(1, lambda _: None)
    simulator.call_at(SECOND // 10, lambda _: task.wake())
    simulator.run(5 * SECOND)
    assert task.parked
    assert not task.finished
