import time

import pytest

from rumpus.recipes.barrier.catalogue import BARRIERS
from rumpus.recipes.outcomes import OutcomeUnknown
from rumpus.recipes.requests.retrying_call import RetryingCall
from rumpus.recipes.requests.session import Unanswered

OURS = BARRIERS["rechecking"].recipe
SOUND = [name for name, recipe in BARRIERS.items() if not recipe.faulty]


@pytest.mark.parametrize("name", SOUND)
def test_it_holds_everybody_until_it_is_removed_again_and_again(crowd, path, name):
    kind = BARRIERS[name].recipe
    keeper, *waiters = (kind(crowd[number], path) for number in range(3))
    for _ in range(3):
        keeper.create()
        keeper.create()
        waiting = [crowd.in_thread(waiter.wait) for waiter in waiters]
        time.sleep(0.1)
        assert all(call.is_alive() for call in waiting)
        keeper.remove()
        assert [call.result() for call in waiting] == [True, True]
    keeper.remove()
    assert keeper.wait(timeout=0)


@pytest.mark.parametrize("name", SOUND)
def test_a_wait_that_times_out_says_so(crowd, path, name):
    barrier = BARRIERS[name].recipe(crowd[0], path)
    barrier.create()
    assert barrier.wait(timeout=0.1) is False
    assert not crowd[0].state_listeners


def test_a_waiter_looks_again_after_a_reconnect(crowd, path, eventually):
    keeper, waiter = (OURS(crowd[number], path) for number in (0, 1))
    keeper.create()
    waiting = crowd.in_thread(waiter.wait)
    time.sleep(0.1)
    crowd.links.cut(1, "reset")
    eventually(lambda: not crowd[1].connected)
    keeper.remove()
    crowd.links.heal(1)
    assert waiting.result() is True


def test_a_waiter_whose_session_ends_goes_on_waiting(crowd, path):
    keeper, waiter = (OURS(crowd[number], path) for number in (0, 1))
    keeper.create()
    waiting = crowd.in_thread(waiter.wait)
    time.sleep(0.1)
    crowd.expire(1)
    assert waiting.is_alive()
    keeper.remove()
    assert waiting.result() is True


def test_lost_replies_are_asked_for_again(crowd, path):
    barrier = OURS(crowd[0], path)
    crowd.links.cut(0, "lost-reply")
    barrier.create(timeout=20)
    assert not crowd.links.in_force(0)
    assert barrier.wait(timeout=0) is False


def test_a_removal_whose_answer_was_lost_removes_no_later_barrier(crowd, path):
    other = OURS(crowd[1], path)
    lost = []

    class LosesItsAnswer(RetryingCall):
        def write(self, method, *args, **options):
            answer = super().write(method, *args, **options)
            if not lost:
                lost.append(method)
                other.create()
                raise Unanswered("the connection was lost")
            return answer

    class Interrupted(OURS):
        _call_class = LosesItsAnswer

    other.create()
    first = crowd[1].exists(path).czxid
    Interrupted(crowd[0], path).remove(timeout=20)
    assert lost == [crowd[0].delete_async]
    assert crowd[1].exists(path).czxid > first
    assert other.wait(timeout=0) is False


def test_timeouts_hold_while_no_server_is_in_reach(crowd, path):
    barrier = OURS(crowd[0], path, grace=0.2)
    barrier.create()
    crowd.links.cut(0, "black-hole")
    began = time.monotonic()
    assert barrier.wait(timeout=0.1) is False
    with pytest.raises(OutcomeUnknown, match="no answer in time"):
        barrier.remove(timeout=0.1)
    assert time.monotonic() - began < 3  # their bounds, and slow machines
    crowd.links.heal(0)
