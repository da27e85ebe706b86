"""A counter."""

from collections.abc import Hashable
from fractions import Fraction

from rumpus.checker.deciders.typed_values import Real
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

_SIGNS = {"add": 1, "increment": 1, "inc": 1, "decrement": -1, "dec": -1}


class Counter(Model):
    """``add`` a number (1 if none is given), ``increment`` and ``decrement``, ``read`` the total.

    Totals are compared by their amount: 3 and 3.0 are one total. Numbers with a point are added as
    programs do it, which rounds the sum.

    Raises:
        WrongOperations: what was added is not a number.
    """

    name = "counter"
    functions = frozenset({*_SIGNS, "read"})
    initial: Hashable = 0
    observers = frozenset({"read"})

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The total after the operation."""
        assert isinstance(state, (int, float, Fraction))
        if f == "read":
            total = self.amount(result) if isinstance(result, Real) else result
            return state if total in (state, UNKNOWN) else ILLEGAL
        number = 1 if argument is None else argument
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise WrongOperations(f"{f} takes a number, not {number!r}")
        return state + _SIGNS[f] * self.amount(number)

    def amount(self, number: float) -> int | float | Fraction:
        """A number as it is added and compared."""
        return float(number) if isinstance(number, Real) else number


class ExactCounter(Counter):
    """A counter that adds numbers with a point exactly, as they are written: 0.1 is one tenth."""

    def __init__(self, initial: Hashable = None) -> None:
        super().__init__(self.amount(initial) if isinstance(initial, float) else initial)

    def amount(self, number: float) -> int | Fraction:
        """The number as a ratio."""
        return number if isinstance(number, int) else Fraction(repr(number))
