import time

import pytest

from rumpus.recipes.contests.interfaces import NotHeld
from rumpus.recipes.lock.validity_lock import ValidityLock
from rumpus.recipes.requests.session_validity import DRIFT
from tests.recipes.crowd import SESSION_TIMEOUT


def test_a_holder_knows_how_long_and_is_renewed(crowd, path):
    lock = ValidityLock(crowd[0], path)
    assert (lock.remaining(), lock.held) == (0, False)
    assert lock.acquire()
    assert 0 < lock.remaining() <= SESSION_TIMEOUT * (1 - DRIFT)
    assert lock.held
    time.sleep(SESSION_TIMEOUT)
    assert lock.held, "its session has been kept alive, and it knows"
    lock.release()
    assert (lock.remaining(), lock.held) == (0, False)


def test_who_is_cut_off_gives_up_by_itself_before_another_is_granted(crowd, path, eventually):
    lock, other = (ValidityLock(crowd[number], path) for number in (0, 1))
    assert lock.acquire()
    waiting = crowd.in_thread(other.acquire, 20)
    crowd.links.cut(0, "black-hole")
    assert lock.held, "its window is not over yet"
    eventually(lambda: not lock.held)
    assert not other.held
    assert waiting.result()
    assert not lock.held
    crowd.links.heal(0)
    with pytest.raises(NotHeld):
        lock.release()


def test_the_window_opens_again_for_the_same_session(crowd, path, eventually):
    lock = ValidityLock(crowd[0], path)
    assert lock.acquire()
    token = lock.token
    crowd.links.cut(0, "reset")
    time.sleep(0.5)
    assert lock.held, "a lost connection alone is no reason to stop"
    crowd.links.heal(0)
    time.sleep(SESSION_TIMEOUT)
    eventually(lambda: lock.held)
    assert lock.token == token
    lock.release()


def test_a_guard_asks_for_enough_time_and_tells_if_it_was_not(crowd, path):
    lock = ValidityLock(crowd[0], path)
    with pytest.raises(NotHeld, match="certain for"), lock.guard():
        pytest.fail("not held")
    assert lock.acquire()
    with pytest.raises(NotHeld, match="are needed"), lock.guard(SESSION_TIMEOUT):
        pytest.fail("never so long")
    with lock.guard(0.1) as left:
        assert left > 0.1
    crowd.links.cut(0, "black-hole")
    with pytest.raises(NotHeld, match="end of the action"), lock.guard(0.1) as left:
        time.sleep(left + 0.1)
    crowd.links.heal(0)


def test_without_heartbeats_time_runs_out_and_nothing_is_left(crowd, path):
    holder, lock = (ValidityLock(crowd[number], path) for number in (0, 1))
    assert holder.acquire()
    assert not lock.acquire(timeout=0.2)
    assert len(crowd.children(path)) == 1
    holder.release()
    assert lock.acquire(timeout=10)
    lock.release()


def test_a_shorter_timeout_can_be_told(crowd, path):
    lock = ValidityLock(crowd[0], path, session_timeout=2.0)
    assert lock.acquire(timeout=10)
    assert lock.remaining() <= 2.0 * (1 - DRIFT)
    lock.release()
