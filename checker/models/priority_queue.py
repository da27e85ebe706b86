"""A queue whose lowest priority is dequeued first."""

from bisect import insort_right
from collections.abc import Hashable

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model


class PriorityQueue(Model):
    """``enqueue`` a value; ``dequeue`` the one of the lowest priority, or None when empty.

    As in ZooKeeper's recipe elements of equal priority are dequeued in order of arrival. The
    priority is the field ``priority``, else the value itself. The state is the tuple of pairs of
    priority and value, the next one first.

    Raises:
        WrongOperations: a priority is not an integer.
    """

    name = "priority-queue"
    functions = frozenset({"enqueue", "dequeue"})
    initial: Hashable = ()
    columns = ("priority",)

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The queue after the operation."""
        assert isinstance(state, tuple)
        assert isinstance(argument, tuple)
        priority, value = argument
        if f == "enqueue":
            priority = value if priority is None else priority
            if type(priority) is not int:
                raise WrongOperations(
                    f"enqueue takes an integer priority (lower is sooner), not {priority!r}"
                )
            waiting = list(state)
            insort_right(waiting, (priority, value), key=lambda pair: pair[0])
            return tuple(waiting)
        if result is UNKNOWN:
            return state[1:]
        if result is None:
            return ILLEGAL if state else state
        if not state or state[0][1] != result or priority not in (None, state[0][0]):
            return ILLEGAL
        return state[1:]

    def describe(self, f: str, argument: Hashable, result: Hashable) -> str:
        """An operation in words, with its priority where that is not the value itself."""
        assert isinstance(argument, tuple)
        words = super().describe(f, argument, result)
        return words if argument[0] is None else f"{words} of priority {argument[0]}"
