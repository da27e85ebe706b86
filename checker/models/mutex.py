"""A lock that one process holds at a time."""

from collections.abc import Hashable

from rumpus.checker.deciders.typed_values import FALSE
from rumpus.checker.models.model import ILLEGAL, REFUSED, Model


class Mutex(Model):
    """``acquire`` and ``release`` (or ``lock`` and ``unlock``), and ``try_acquire``.

    The state is the process that holds it, or None. Only the holder can release it, and it
    cannot acquire it again. A ``try_acquire`` that was refused, or answered False, found it
    held by some process (perhaps the caller).
    """

    name = "mutex"
    functions = frozenset({"acquire", "lock", "release", "unlock", "try_acquire"})
    refusable = frozenset({"try_acquire"})
    columns = ("process",)

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The holder after the operation."""
        assert isinstance(argument, tuple)
        process: Hashable = argument[0]
        if f in ("release", "unlock"):
            return None if state == process else ILLEGAL
        if f == "try_acquire" and result in (REFUSED, FALSE):
            return ILLEGAL if state is None else state
        return process if state is None else ILLEGAL

    def describe_state(self, state: Hashable) -> str:
        """Who holds it."""
        return "free" if state is None else f"held by process {state}"
