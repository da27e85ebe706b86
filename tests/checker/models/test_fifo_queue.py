from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from rumpus.checker.models.fifo_queue import FifoQueue
from tests.checker.models.sequential import follow

calls = st.lists(
    st.tuples(st.just("enqueue"), st.integers(0, 3)) | st.tuples(st.just("dequeue"), st.none())
)


@given(calls, st.lists(st.integers(0, 3), max_size=2))
def test_does_what_a_deque_does(calls, initial):
    queue = deque(initial)

    def plain(f, argument):
        if f == "enqueue":
            return queue.append(argument)
        return queue.popleft() if queue else None

    answers = {"dequeue": [None, 0, 1, 2, 3]}
    assert follow(FifoQueue(tuple(initial)), calls, plain, answers) == tuple(queue)
