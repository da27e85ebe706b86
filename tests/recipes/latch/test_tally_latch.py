import time

import pytest

from rumpus.recipes.latch.tally_latch import Latch
from rumpus.recipes.outcomes import OutcomeUnknown


def test_it_opens_for_everybody_when_all_have_counted(crowd, path):
    one, two, other = (Latch(crowd[number], path, 2) for number in range(3))
    waiting = [crowd.in_thread(each.wait) for each in (one, other)]
    one.count_down()
    one.count_down()
    time.sleep(0.1)
    assert all(call.is_alive() for call in waiting)
    two.count_down()
    assert [call.result() for call in waiting] == [True, True]
    other.count_down()
    assert other.wait(timeout=5) is True


def test_a_latch_of_0_is_open(crowd, path):
    assert Latch(crowd[0], path, 0).wait(timeout=5) is True


def test_the_first_to_come_decides_on_the_count(crowd, path):
    Latch(crowd[0], path, 2).count_down()
    assert Latch(crowd[1], path, 1).wait(timeout=0.1) is False
    assert not crowd[1].state_listeners


def test_a_name_counts_once_whoever_bears_it(crowd, path):
    Latch(crowd[0], path, 2, name="a").count_down()
    Latch(crowd[1], path, 2, name="a").count_down()
    assert Latch(crowd[2], path, 2).wait(timeout=0.1) is False


def test_a_count_whose_answer_was_lost_counts_once(crowd, path):
    latch = Latch(crowd[0], path, 2)
    assert latch.wait(timeout=0.1) is False
    crowd.links.cut(0, "lost-reply")
    latch.count_down(timeout=20)
    assert not crowd.links.in_force(0)
    assert len(crowd[1].get_children(path)) == 1


def test_a_count_outlives_its_session(crowd, path):
    Latch(crowd[0], path, 1).count_down()
    crowd.expire(0)
    assert Latch(crowd[1], path, 1).wait(timeout=5) is True


def test_a_waiter_looks_again_after_a_reconnect(crowd, path, eventually):
    waiting = crowd.in_thread(Latch(crowd[1], path, 1).wait)
    time.sleep(0.1)
    crowd.links.cut(1, "reset")
    eventually(lambda: not crowd[1].connected)
    Latch(crowd[0], path, 1).count_down()
    crowd.links.heal(1)
    assert waiting.result() is True


def test_timeouts_hold_while_no_server_is_in_reach(crowd, path):
    latch = Latch(crowd[0], path, 1, grace=0.2)
    crowd.links.cut(0, "black-hole")
    began = time.monotonic()
    assert latch.wait(timeout=0.1) is False
    with pytest.raises(OutcomeUnknown, match="no answer in time"):
        latch.count_down(timeout=0.1)
    assert time.monotonic() - began < 3  # their bounds, and slow machines
    crowd.links.heal(0)


def test_a_count_below_0_is_refused(crowd, path):
    with pytest.raises(ValueError, match="cannot be below 0"):
        Latch(crowd[0], path, -1)
