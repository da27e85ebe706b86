from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.values import freeze
from rumpus.checker.models.model import ILLEGAL, REFUSED
from rumpus.checker.models.mutex import Mutex
from tests.checker.models.sequential import follow

processes = st.tuples(st.integers(0, 2), st.none())
calls = st.lists(st.tuples(st.sampled_from(["acquire", "lock", "release", "unlock"]), processes))


@given(calls)
def test_is_held_by_one_at_a_time(calls):
    holders = []

    def plain(f, argument):
        process = argument[0]
        if f in ("acquire", "lock"):
            if holders:
                return NotImplemented
            holders.append(process)
        elif holders != [process]:
            return NotImplemented
        else:
            holders.clear()
        return None

    state = follow(Mutex(), calls, plain)
    assert ([] if state is None else [state]) == holders


def test_a_refused_try_found_it_held():
    mutex = Mutex()
    for no in (REFUSED, False):
        assert mutex.step(None, "try_acquire", (1, None), no) is ILLEGAL
        assert mutex.step(2, "try_acquire", (1, None), no) == 2
        assert mutex.step(1, "try_acquire", (1, None), no) == 1
    assert mutex.step(None, "try_acquire", (1, None), True) == 1
    for yes in (True, 0, freeze(0.0)):
        assert mutex.step(2, "try_acquire", (1, None), yes) is ILLEGAL


def test_speaks_of_holders():
    assert Mutex().describe_state(None) == "free"
    assert Mutex().describe_state(3) == "held by process 3"
    assert Mutex().describe("acquire", (3, None), None) == "acquire()"
