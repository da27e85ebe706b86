"""A queue without an order: a dequeue may take any value inside."""

from collections.abc import Hashable

from rumpus.checker.models.model import ILLEGAL, Model


class MultisetQueue(Model):
    """``enqueue`` a value; ``dequeue`` any that is inside, or None when it is empty.

    A dequeue of unknown outcome may have taken any value, so it has no single next state:
    histories with such dequeues cannot be searched with this model. The state is the tuple of
    pairs of a value and its count, sorted by their text.
    """

    name = "queue"
    functions = frozenset({"enqueue", "dequeue"})
    initial: Hashable = ()

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The queue after the operation."""
        assert isinstance(state, tuple)
        if f == "dequeue" and result is None:
            return ILLEGAL if state else state
        counts = dict(state)
        value = argument if f == "enqueue" else result
        counts[value] = counts.get(value, 0) + (1 if f == "enqueue" else -1)
        if counts[value] < 0:
            return ILLEGAL
        left = ((each, count) for each, count in counts.items() if count)
        return tuple(sorted(left, key=repr))
