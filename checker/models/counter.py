"""A counter."""

from collections.abc import Hashable

from rumpus.checker.deciders.typed_values import Real
from rumpus.checker.deciders.values import WrongOperations
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

_SIGNS = {"add": 1, "increment": 1, "inc": 1, "decrement": -1, "dec": -1}


class Counter(Model):
    """``add`` a number (1 if none is given), ``increment`` and ``decrement``, ``read`` the total.

    Totals are compared by their amount: 3 and 3.0 are one total.

    Raises:
        WrongOperations: what was added is not a number.
    """

    name = "counter"
    functions = frozenset({*_SIGNS, "read"})
    initial: Hashable = 0
    observers = frozenset({"read"})

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The total after the operation."""
        assert isinstance(state, (int, float))
        if f == "read":
            total = float(result) if isinstance(result, Real) else result
            return state if total in (state, UNKNOWN) else ILLEGAL
        number = 1 if argument is None else argument
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise WrongOperations(f"{f} takes a number, not {number!r}")
        return state + _SIGNS[f] * number
