import time

import pytest

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.catalogue import LOCKS
from rumpus.recipes.lock.delayed_lock import DELAY, DelayedLock


def seconds_until(acquire):
    began = time.monotonic()
    assert acquire()
    return time.monotonic() - began


@pytest.mark.parametrize(("name", "waits"), [("lock-delay", False), ("delay-after-release", True)])
def test_after_a_release_the_next_one_is_granted_at_once(crowd, path, name, waits):
    kind = LOCKS[name].recipe
    first, second = (kind(crowd[number], path) for number in (0, 1))
    assert first.acquire()
    first.release()
    assert (seconds_until(lambda: second.acquire(20)) >= DELAY) is waits
    second.release()


@pytest.mark.parametrize(("name", "waits"), [("lock-delay", True), ("delay-since-taken", False)])
def test_after_a_failure_the_next_one_waits(crowd, path, name, waits):
    kind = LOCKS[name].recipe
    holder, other = (kind(crowd[number], path) for number in (0, 1))
    assert holder.acquire()
    time.sleep(DELAY)
    crowd.end_session(0)
    assert (seconds_until(lambda: other.acquire(20)) >= DELAY) is waits
    other.release()
    crowd.let_find_out(0)
    with pytest.raises(NotHeld):
        holder.release()


def test_who_waits_for_the_delay_and_gives_up_does_not_shorten_it(crowd, path):
    holder, impatient, patient = (DelayedLock(crowd[number], path) for number in range(3))
    assert holder.acquire()
    crowd.end_session(0)
    assert impatient.acquire(timeout=0.5 * DELAY) is False
    assert seconds_until(lambda: patient.acquire(20)) >= DELAY
    assert impatient.acquire(timeout=0.1) is False
    patient.release()
    assert impatient.acquire(timeout=5)
    impatient.release()


def test_a_waiter_that_dies_delays_nobody(crowd, path, eventually):
    holder, waiter, other = (DelayedLock(crowd[number], path, delay=30) for number in range(3))
    assert holder.acquire()
    crowd.in_thread(waiter.acquire, 10)
    eventually(lambda: len(crowd.children(path)) == 3)
    crowd.end_session(1)
    holder.release()
    assert other.acquire(timeout=10)
    other.release()
