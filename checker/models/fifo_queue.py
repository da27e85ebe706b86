"""A queue: first in, first out."""

from collections.abc import Hashable

from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model


class FifoQueue(Model):
    """``enqueue`` a value; ``dequeue`` the oldest, or None when it is empty.

    The state is the tuple of values, the oldest first; an initial value is a list of them.
    """

    name = "fifo-queue"
    functions = frozenset({"enqueue", "dequeue"})
    initial: Hashable = ()

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The queue after the operation."""
        assert isinstance(state, tuple)
        if f == "enqueue":
            return (*state, argument)
        if result is UNKNOWN:
            return state[1:]
        if result is None:
            return ILLEGAL if state else state
        return state[1:] if state and state[0] == result else ILLEGAL
