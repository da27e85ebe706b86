"""A lock whose holder may acquire it again, and must release it as often."""

from collections.abc import Hashable

from rumpus.checker.models.model import ILLEGAL, REFUSED, Model

Held = tuple[Hashable, int]
"""Who holds it, and how often it was acquired: the state, unless it is free (None)."""


class ReentrantMutex(Model):
    """``acquire`` and ``release`` (or ``lock`` and ``unlock``), and ``try_acquire``.

    A ``try_acquire`` that was refused, or answered False, found it held by another.
    """

    name = "reentrant-mutex"
    functions = frozenset({"acquire", "lock", "release", "unlock", "try_acquire"})
    refusable = frozenset({"try_acquire"})
    columns = ("process",)

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The next holder and how deep it is in."""
        assert isinstance(argument, tuple)
        process = argument[0]
        holder, depth = state if isinstance(state, tuple) else (None, 0)
        if f in ("release", "unlock"):
            if holder != process:
                return ILLEGAL
            return (process, depth - 1) if depth > 1 else None
        free = depth == 0 or holder == process
        if f == "try_acquire" and result in (REFUSED, False):
            return ILLEGAL if free else state
        return (process, depth + 1) if free else ILLEGAL

    def describe_state(self, state: Hashable) -> str:
        """Who holds it, and how often."""
        if not isinstance(state, tuple):
            return "free"
        holder, depth = state
        return f"held by process {holder}" + (f", {depth} times" if depth > 1 else "")
