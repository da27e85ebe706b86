"""Values that equal only values of their own type, at every depth.

Python holds ``1 == 1.0 == True`` and ``(1,) == (True,)``, and a dict or a set takes them for one
value. In a history they are three values: a register that was written ``[1]`` and reads ``[true]``
has changed it. So whatever a history's value contains is one of these:

=====================  =======================  ==================================================
value of the history   here                     is equal to
=====================  =======================  ==================================================
``null``, text         ``None``, ``str``        the same
integer                ``int``                  an integer of the same size
``true``, ``false``    `TRUE`, `FALSE`          itself, and Python's ``True`` or ``False``
number with a point    `Real`                   such a number of the same size: ``1.0`` and ``1e0``,
                                                ``0.0`` and ``-0.0``; NaN equals itself
decimal, ratio (EDN)   `Exact`, `Ratio`         one of the same size
list                   ``tuple``                a list of equal values
object                 `Items`                  an object of equal keys and values, in any order
set (EDN)              ``frozenset``            a set of equal values
=====================  =======================  ==================================================

`checker.deciders.values.freeze` makes them. A model compares them with ``==``, and keeps them in
tuples, sets and dicts. It asks for a boolean with ``== TRUE`` (1 equals ``True``): `TRUE` is not
Python's ``True``, which no class can be derived from.
"""

from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, final


@final
class Truth:
    """A boolean of a history. There are two: `TRUE` and `FALSE`."""

    __slots__ = ("_value",)

    def __init__(self, value: bool) -> None:
        self._value = value

    def __bool__(self) -> bool:
        return self._value

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return repr(self._value)

    def __reduce__(self) -> str:
        return "TRUE" if self._value else "FALSE"


TRUE: Final = Truth(True)
FALSE: Final = Truth(False)
BOOLEAN: Final = (bool, Truth)
"""For ``isinstance``: a boolean, frozen or not."""


class Real(float):
    """A floating-point number."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, float) and float.__eq__(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


class Exact(Decimal):
    """A decimal of EDN (``1.5M``)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decimal) and Decimal.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Decimal.__hash__


class Ratio(Fraction):
    """A ratio of EDN (``1/2``)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fraction) and Fraction.__eq__(self, other)

    __hash__ = Fraction.__hash__


class Items(tuple[tuple[Hashable, Hashable], ...]):
    """The keys and values of an object, sorted: ``{"a": 1}`` is not ``[["a", 1]]``."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Items and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


_NAN: Final = Real("nan")


def _real(value: float) -> Real:
    return Real(value) if value == value else _NAN  # noqa: PLR0124 - NaN does not equal itself


TYPED: Final[dict[type, Callable[[Any], Hashable]]] = {
    bool: {True: TRUE, False: FALSE}.__getitem__,
    float: _real,
    Decimal: Exact,
    Fraction: Ratio,
}
"""Python's type -> makes of its value one that equals only values of its own type."""
