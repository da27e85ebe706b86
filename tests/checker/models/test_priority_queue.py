import heapq
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN
from rumpus.checker.models.priority_queue import PriorityQueue
from tests.checker.models.sequential import follow

enqueue = st.tuples(st.just("enqueue"), st.tuples(st.none() | st.integers(0, 2), st.integers(0, 3)))
dequeue = st.just(("dequeue", (None, None)))


@given(st.lists(enqueue | dequeue))
def test_does_what_a_heap_does_with_equals_in_order_of_arrival(calls):
    heap = []
    arrival = count()

    def plain(f, argument):
        priority, value = argument
        if f == "enqueue":
            return heapq.heappush(
                heap, (value if priority is None else priority, next(arrival), value)
            )
        return heapq.heappop(heap)[-1] if heap else None

    answers = {"dequeue": [None, 0, 1, 2, 3]}
    state = follow(PriorityQueue(), calls, plain, answers)
    assert state == tuple((priority, value) for priority, _, value in sorted(heap))


def test_a_dequeue_may_say_the_priority():
    step = PriorityQueue().step
    state = ((1, "a"), (2, "b"))
    assert step(state, "dequeue", (1, None), "a") == ((2, "b"),)
    assert step(state, "dequeue", (2, None), "a") is ILLEGAL
    assert step((), "dequeue", (None, None), UNKNOWN) == ()


def test_priorities_are_integers():
    with pytest.raises(WrongOperations, match="integer priority"):
        PriorityQueue().step((), "enqueue", (None, "urgent"), None)


def test_speaks_of_priorities():
    describe = PriorityQueue().describe
    assert describe("enqueue", (None, 3), None) == "enqueue(3)"
    assert describe("enqueue", (2, "x"), None) == "enqueue('x') of priority 2"
