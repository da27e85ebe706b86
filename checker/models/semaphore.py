"""A number of permits."""

from collections.abc import Hashable

from rumpus.checker.deciders.typed_values import FALSE
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, REFUSED, Model


class Semaphore(Model):
    """``acquire`` and ``release`` of permits, and ``try_acquire``.

    The number of permits is the initial value. How many are acquired or released is the
    operation's argument or its field ``permits``, else 1. The state is the number that each process
    holds; a process can only release permits that it holds. A ``try_acquire`` that was refused, or
    answered False, found too few permits left.

    Raises:
        WrongOperations: the number of permits is missing or not positive.
    """

    name = "semaphore"
    functions = frozenset({"acquire", "release", "try_acquire"})
    refusable = frozenset({"try_acquire"})
    columns = ("process", "permits")

    def __init__(self, initial: Hashable = None) -> None:
        if type(initial) is not int or initial < 1:
            raise WrongOperations(
                "a semaphore needs its number of permits as the initial value, a positive "
                f"integer, and {initial!r} is none"
            )
        super().__init__(())
        self.permits = initial

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The permits after the operation: pairs of a process and how many it holds."""
        assert isinstance(argument, tuple)
        assert isinstance(state, tuple)
        process, permits, number = argument
        count = next((n for n in (permits, number) if n is not None), 1)
        if type(count) is not int or count < 1:
            raise WrongOperations(f"{f} takes a positive number of permits, not {count!r}")
        held = dict(state)
        if f == "release":
            count = -count
            if held.get(process, 0) + count < 0:
                return ILLEGAL
        else:
            enough = sum(held.values()) + count <= self.permits
            if f == "try_acquire" and result in (REFUSED, FALSE):
                return ILLEGAL if enough else state
            if not enough:
                return ILLEGAL
        held[process] = held.get(process, 0) + count
        return tuple(sorted((who, n) for who, n in held.items() if n))

    def describe_state(self, state: Hashable) -> str:
        """Who holds how many."""
        assert isinstance(state, tuple)
        held = ", ".join(f"{n} by process {who}" for who, n in state)
        return f"{sum(n for _, n in state)} of {self.permits} held" + (held and f": {held}")
