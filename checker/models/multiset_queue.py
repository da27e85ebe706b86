"""A queue without an order: whatever is inside may come out."""

from collections.abc import Hashable

from rumpus.checker.models.model import ILLEGAL, Model


class MultisetQueue(Model):
    """``enqueue`` a value; ``dequeue`` any that is inside, or None when it is empty.

    A dequeue of unknown outcome may have taken any value, which no single next state tells:
    histories that have some are not for this model. The state is the tuple of pairs of a value
    and how often it is inside, in order of their names.
    """

    name = "queue"
    functions = frozenset({"enqueue", "dequeue"})
    initial: Hashable = ()

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """What is in the queue next."""
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
