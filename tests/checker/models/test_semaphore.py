from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, REFUSED
from rumpus.checker.models.semaphore import Semaphore
from tests.checker.models.sequential import follow

number = st.none() | st.integers(1, 3)
arguments = st.tuples(st.integers(0, 2), number, number)


@given(st.lists(st.tuples(st.sampled_from(["acquire", "release"]), arguments)), st.integers(1, 4))
def test_gives_out_no_more_permits_than_it_has(calls, permits):
    held = Counter()

    def plain(f, argument):
        process, of_field, of_argument = argument
        count = of_field or of_argument or 1
        if f == "acquire":
            if held.total() + count > permits:
                return NotImplemented
            held[process] += count
        elif held[process] < count:
            return NotImplemented
        else:
            held[process] -= count
        return None

    assert dict(follow(Semaphore(permits), calls, plain)) == dict(+held)


def test_a_refused_try_found_too_few():
    semaphore = Semaphore(3)
    held = ((1, 2),)
    for no in (REFUSED, False):
        assert semaphore.step(held, "try_acquire", (2, None, None), no) is ILLEGAL
        assert semaphore.step(held, "try_acquire", (2, None, 2), no) == held
    for yes in (True, 0):
        assert semaphore.step(held, "try_acquire", (2, None, None), yes) == ((1, 2), (2, 1))


@pytest.mark.parametrize("permits", [None, 0, -1, "3", True, 1.5])
def test_needs_a_number_of_permits(permits):
    with pytest.raises(WrongOperations, match="positive integer"):
        Semaphore(permits)


@pytest.mark.parametrize("count", [0, -1, "2", True])
def test_takes_a_number_of_permits(count):
    with pytest.raises(WrongOperations, match="positive number of permits"):
        Semaphore(2).step((), "acquire", (1, None, count), None)


def test_speaks_of_holders():
    describe = Semaphore(3).describe_state
    assert describe(()) == "0 of 3 held"
    assert describe(((1, 2), (4, 1))) == "3 of 3 held: 2 by process 1, 1 by process 4"
