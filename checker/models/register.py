"""Registers: one value that is read, written, and compared and set."""

from collections.abc import Hashable

from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, REFUSED, UNKNOWN, Model


class Register(Model):
    """A value that is read and written; None at first."""

    name = "register"
    functions = frozenset({"read", "write"})
    observers = frozenset({"read"})
    blind = frozenset({"write"})

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """``write(v)``; ``read() -> v``."""
        if f == "write":
            return argument
        return state if result is UNKNOWN or result == state else ILLEGAL


class CasRegister(Register):
    """A register with compare-and-set: ``cas((old, new))`` writes new where it finds old.

    A cas that fails without an error found another value than the old one.
    """

    name = "cas-register"
    functions = frozenset({"read", "write", "cas"})
    refusable = frozenset({"cas"})

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """As `Register`, and ``cas((old, new))``.

        Raises:
            WrongOperations: the argument of a cas is no pair.
        """
        if f != "cas":
            return super().step(state, f, argument, result)
        if not isinstance(argument, tuple) or len(argument) != 2:
            raise WrongOperations(f"the argument of a cas is [old, new], and {argument!r} is not")
        old, new = argument
        if result is REFUSED:
            return state if state != old else ILLEGAL
        return new if state == old else ILLEGAL
