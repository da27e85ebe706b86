import time

import pytest

from rumpus.recipes.requests.deadline import Deadline


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

    monkeypatch.setattr(time, "monotonic", lambda: Clock.now)
    return Clock


def test_time_runs_out(clock):
    deadline = Deadline(3.0, allowance=1.0)
    clock.now += 2.0
    assert (deadline.left(), deadline.left_for_answers()) == (1.0, 2.0)
    assert not deadline.passed
    clock.now += 1.0
    assert (deadline.left(), deadline.left_for_answers()) == (0.0, 1.0)
    assert deadline.passed
    clock.now += 5.0
    assert (deadline.left(), deadline.left_for_answers()) == (0.0, 0.0)


def test_for_ever(clock):
    deadline = Deadline(None, allowance=1.0)
    clock.now += 1e9
    assert (deadline.left(), deadline.left_for_answers()) == (None, None)
    assert not deadline.passed


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_still_lets_an_answer_come(clock, seconds):  # noqa: ARG001 - time stands
    deadline = Deadline(seconds, allowance=0.5)
    assert deadline.passed
    assert (deadline.left(), deadline.left_for_answers()) == (0.0, 0.5)
