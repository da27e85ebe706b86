"""Columns of an operation table: integers as they are, other values by number.

A history may have millions of values, many of them equal. If all values of a column are integers
the column is just their numpy array. Otherwise each distinct value is stored once, and the column
holds positions in the list of distinct values.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.typed_values import TYPED, Items

MISSING = -(2**63)
"""In a column of numbers: no value."""

MAX_BITS = 64
"""The most bits of an integer."""

MAX_DEPTH = 64
"""The deepest nesting of lists, objects and sets in a value."""

MOST_ALIKE = 100
"""The most different lists, objects or sets with one hash that may come together.

In Python -1 and -2 have the same hash, and so have 0, false and "". So thousands of short lists of
them have one hash, and then a table of these takes quadratic time. By chance hardly two have.
"""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Values(Sequence[Any]):
    """A column of values: integers as they are, other values by number.

    Args:
        numbers: the integers themselves, or positions in ``objects``; `MISSING` for None.
        objects: the distinct values, frozen (`freeze`); None when the numbers are the values.
    """

    __slots__ = ("numbers", "objects")

    def __init__(self, numbers: Ints, objects: Sequence[Hashable] | None = None) -> None:
        self.numbers = numbers
        self.objects = objects

    @classmethod
    def of(cls, values: Iterable[Any]) -> "Values":
        """A column of any values."""
        builder = ValuesBuilder()
        builder.extend(list(values))
        return builder.build()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> Any:
        if not isinstance(row, (int, np.integer)):
            return Values(self.numbers[row], self.objects)
        number = int(self.numbers[row])
        if number == MISSING:
            return None
        return number if self.objects is None else self.objects[number]

    def tolist(self) -> list[Any]:
        """The values, None for `MISSING`."""
        objects = self.objects
        if objects is None:
            return [None if number == MISSING else number for number in self.numbers.tolist()]
        return [None if number == MISSING else objects[number] for number in self.numbers.tolist()]

    @property
    def present(self) -> Flags:
        """Mask of the places that have a value."""
        present: Flags = self.numbers != MISSING
        return present

    def ints(self, what: str) -> Ints:
        """The numbers, with `MISSING` for no value.

        Raises:
            WrongOperations: a value is not an integer, or too large; ``what`` names the column.
        """
        if self.objects is not None:
            for value in self.objects:
                if type(value) is not int:
                    raise WrongOperations(f"{what} must be integers, and {value!r} is not")
            large = max(self.objects, key=lambda value: abs(cast("int", value)))
            raise WrongOperations(f"{what} must have 63 bits at most, and {large!r} has not")
        return self.numbers


class ValuesBuilder:
    """Builds a column from lists of values, storing each distinct value once.

    Values of different types are distinct: 1, 1.0 and true are three values, and so are lists of
    one of them (`checker.deciders.typed_values`).
    """

    def __init__(self) -> None:
        self._pieces: list[Ints] = []
        self._objects: list[Hashable] | None = None
        self._known: dict[Hashable, int] = {}
        self._alike = AlikeValues()

    def extend(self, values: Sequence[Any]) -> None:
        """Append values.

        Raises:
            WrongOperations: one is nested too deeply, or too large, or too many are alike
                (`freeze`).
        """
        types = set(map(type, values))
        numbers = self._plain(values, types) if types <= _PLAIN else None
        if numbers is None:
            if self._objects is None:
                self._convert_to_numbers()
            numbers = self._numbered(values, types)
        self._pieces.append(numbers)

    def build(self) -> Values:
        """The column."""
        whole = np.concatenate(self._pieces) if self._pieces else np.zeros(0, dtype=np.int64)
        return Values(whole, self._objects)

    def _plain(self, values: Sequence[Any], types: set[type]) -> Ints | None:
        """Values as integers; None if the column cannot be one of plain integers."""
        if self._objects is not None:
            return None
        absent = 0
        if type(None) in types:
            if len(types) == 1:
                return np.full(len(values), MISSING, dtype=np.int64)
            absent = values.count(None)
            values = [MISSING if v is None else v for v in values]
        try:
            numbers = np.array(values, dtype=np.int64)
        except OverflowError:
            return None
        # The smallest integer cannot be a value: it is `MISSING`.
        return numbers if np.count_nonzero(numbers == MISSING) == absent else None

    def _convert_to_numbers(self) -> None:
        """Replace the integers of the earlier lists by positions among the distinct values."""
        self._objects = []
        for at, piece in enumerate(self._pieces):
            values = [None if v == MISSING else v for v in piece.tolist()]
            self._pieces[at] = self._numbered(values, set(map(type, values)))

    def _numbered(self, values: Sequence[Any], types: set[type]) -> Ints:
        nulls = type(None) in types
        one = types - {type(None)}
        if len(one) == 1 and one <= _HASHABLE:
            if int in one:
                for value in values:
                    _refuse_large(value)
            elif typed := TYPED.get(next(iter(one))):
                values = [None if value is None else typed(value) for value in values]
            numbers = self._known
            assert self._objects is not None
            new = [v for v in dict.fromkeys(values) if v is not None and v not in numbers]
            numbers.update(zip(new, range(len(self._objects), 1 << 62), strict=False))
            self._objects.extend(new)
            find = numbers.get if nulls else numbers.__getitem__
            found = map(find, values)
            return np.fromiter(
                (MISSING if v is None else v for v in found) if nulls else found,
                dtype=np.int64,
                count=len(values),
            )
        return np.fromiter(map(self._number, values), dtype=np.int64, count=len(values))

    def _number(self, value: Any) -> int:
        if value is None:
            return MISSING
        assert self._objects is not None
        frozen = freeze(value)
        at = self._known.setdefault(frozen, len(self._objects))
        if at == len(self._objects):
            self._alike.add(frozen)
            self._objects.append(frozen)
        return at


_PLAIN = {int, type(None)}
_HASHABLE = {int, str, float, bool}


class WrongOperations(ValueError):  # noqa: N818 - reads as the state it names
    """A history has operations or values that the model does not know."""


def _refuse_large(value: Any) -> None:
    """Refuse an integer of more than 64 bits.

    Python's hash of an integer is the number modulo 2^61 - 1. Many larger integers can have the
    same hash, and then building a dictionary of them takes quadratic time.
    """
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise WrongOperations(f"a value is an integer of more than {MAX_BITS} bits")


class AlikeValues:
    """Counts the values that come to a table, by their hashes."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, value: Hashable) -> None:
        """Count a value that is in the table for the first time.

        Raises:
            WrongOperations: more than `MOST_ALIKE` have its hash.
        """
        if isinstance(value, _COLLECTIONS):
            number = hash(value)
            self._counts[number] += 1
            if self._counts[number] > MOST_ALIKE:
                raise WrongOperations(
                    f"more than {MOST_ALIKE} different lists, objects or sets have one hash, "
                    "which no program writes"
                )


def refuse_alike(values: Sequence[Hashable]) -> None:
    """Refuse values of which a table would take quadratic time.

    Raises:
        WrongOperations: more than `MOST_ALIKE` different ones have one hash.
    """
    if len(values) <= MOST_ALIKE or not any(isinstance(each, _COLLECTIONS) for each in values):
        return
    hashes = Counter(map(hash, values))
    frequent = {number for number, times in hashes.items() if times > MOST_ALIKE}
    alike, found = AlikeValues(), set()
    for value in values:
        if hash(value) in frequent and value not in found:
            found.add(value)
            alike.add(value)


_COLLECTIONS = (tuple, frozenset)


def freeze(value: Any, depth: int = MAX_DEPTH) -> Hashable:
    """A hashable copy that equals only values of its own type (`checker.deciders.typed_values`).

    Lists become tuples, objects `Items`, sets frozensets. What is frozen already stays the same.

    Raises:
        WrongOperations: the value is nested more deeply than ``depth``, or has an integer of more
            than `MAX_BITS` bits, or a collection in it has too many elements that are alike.
    """
    kind = type(value)
    if kind is str or kind is Items or value is None:
        return value  # type: ignore[no-any-return] # hashable
    if kind is int:
        _refuse_large(value)
        return value  # type: ignore[no-any-return] # hashable
    if kind in TYPED:
        return TYPED[kind](value)
    if not isinstance(value, (dict, list, tuple, set, frozenset)):
        return value  # type: ignore[no-any-return] # hashable
    if not depth:
        raise WrongOperations(f"a value is nested more than {MAX_DEPTH} deep")
    depth -= 1
    if isinstance(value, dict):
        items = [(freeze(k, depth), freeze(v, depth)) for k, v in value.items()]
        return Items(sorted(items, key=repr) if len(items) > 1 else items)
    frozen = [freeze(each, depth) for each in value]
    refuse_alike(frozen)
    return frozenset(frozen) if isinstance(value, (set, frozenset)) else tuple(frozen)
