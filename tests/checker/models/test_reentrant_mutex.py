from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.models.model import ILLEGAL, REFUSED
from rumpus.checker.models.reentrant_mutex import ReentrantMutex
from tests.checker.models.sequential import follow

processes = st.tuples(st.integers(0, 1), st.none())
calls = st.lists(st.tuples(st.sampled_from(["acquire", "lock", "release", "unlock"]), processes))


@given(calls)
def test_is_released_as_often_as_it_was_acquired(calls):
    holds = []

    def plain(f, argument):
        process = argument[0]
        if f in ("acquire", "lock"):
            if holds and holds[0] != process:
                return NotImplemented
            holds.append(process)
        elif not holds or holds[0] != process:
            return NotImplemented
        else:
            holds.pop()
        return None

    state = follow(ReentrantMutex(), calls, plain)
    assert (0 if state is None else state[1]) == len(holds)


def test_a_refused_try_found_it_held_by_another():
    mutex = ReentrantMutex()
    for no in (REFUSED, False):
        assert mutex.step(None, "try_acquire", (1, None), no) is ILLEGAL
        assert mutex.step((1, 2), "try_acquire", (1, None), no) is ILLEGAL
        assert mutex.step((2, 1), "try_acquire", (1, None), no) == (2, 1)
    for yes in (True, 0):
        assert mutex.step((1, 1), "try_acquire", (1, None), yes) == (1, 2)


def test_speaks_of_holders():
    describe = ReentrantMutex().describe_state
    assert [describe(state) for state in (None, (3, 1), (3, 2))] == [
        "free",
        "held by process 3",
        "held by process 3, 2 times",
    ]
