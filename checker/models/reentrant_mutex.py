"""A lock whose holder may acquire it again, and must release it as often."""

from collections.abc import Hashable

from rumpus.checker.deciders.typed_values import FALSE
from rumpus.checker.models.model import ILLEGAL, REFUSED
from rumpus.checker.models.mutex import Mutex

Held = tuple[Hashable, int]
"""The state: the holder, and how often it has acquired; None if the lock is free."""


class ReentrantMutex(Mutex):
    """A mutex with the operations of `Mutex` whose holder may acquire it again.

    A ``try_acquire`` that was refused, or answered False, found it held by another process.
    """

    name = "reentrant-mutex"

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The holder after the operation, and how often it has acquired."""
        assert isinstance(argument, tuple)
        process = argument[0]
        holder, depth = state if isinstance(state, tuple) else (None, 0)
        if f in ("release", "unlock"):
            if holder != process:
                return ILLEGAL
            return (process, depth - 1) if depth > 1 else None
        free = depth == 0 or holder == process
        if f == "try_acquire" and result in (REFUSED, FALSE):
            return ILLEGAL if free else state
        return (process, depth + 1) if free else ILLEGAL

    def describe_state(self, state: Hashable) -> str:
        """Who holds it, and how often."""
        if not isinstance(state, tuple):
            return "free"
        holder, depth = state
        return f"held by process {holder}" + (f", {depth} times" if depth > 1 else "")
