"""Attempts that another thread cancels."""

import threading

import pytest
from kazoo.exceptions import CancelledError

from rumpus.workloads.own.cancelled_attempt import cancelled_attempt

LONG_S = 5.0


class Waiting:
    """Waits until it is cancelled as often as it takes."""

    def __init__(self, takes=1):
        self._left = takes
        self._over = threading.Event()

    def enter(self):
        assert self._over.wait(LONG_S)
        raise CancelledError

    def cancel(self):
        self._left -= 1
        if not self._left:
            self._over.set()


def test_a_cancelled_attempt_is_granted_nothing():
    waiting = Waiting()
    assert not cancelled_attempt(waiting.enter, waiting.cancel, 0.01)


def test_a_grant_that_comes_before_is_one_and_is_not_cancelled():
    assert cancelled_attempt(lambda: True, pytest.fail, LONG_S)


def test_it_is_cancelled_again_if_it_had_not_begun_to_wait():
    waiting = Waiting(takes=2)
    assert not cancelled_attempt(waiting.enter, waiting.cancel, 0.0)


def test_what_says_that_it_was_cancelled_before_it_was_is_wrong():
    def enter():
        raise CancelledError

    with pytest.raises(CancelledError):
        cancelled_attempt(enter, pytest.fail, LONG_S)
