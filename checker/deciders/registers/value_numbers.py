"""One numbering of the values that were written and read."""

from collections.abc import Hashable, Sequence

import numpy as np

from rumpus.checker.deciders.values import MISSING, Ints, Values


def one_numbering(columns: Sequence[Values]) -> tuple[list[Ints], int]:
    """The values of several columns as numbers from 0: equal numbers for equal values.

    Values of different types are distinct; the missing value counts as a value.

    Returns:
        The numbers of each column, and an upper bound of them (exclusive), which is less than
        about four times the number of values.
    """
    if all(column.objects is None for column in columns):
        numbers = [column.numbers for column in columns]
    else:
        known = _Known()
        numbers = [known.numbered(column) for column in columns]
    whole = np.concatenate(numbers)
    present = whole != MISSING
    some = whole if bool(present.all()) else whole[present]
    if not len(some):
        return [np.zeros(len(each), dtype=np.int64) for each in numbers], 1
    low, high = int(some.min()), int(some.max())
    if high - low <= 4 * len(whole):
        dense = [np.where(each == MISSING, 0, each - low + 1) for each in numbers]
        return dense, high - low + 2
    distinct, inverse = np.unique(whole, return_inverse=True)
    ends = np.cumsum([len(each) for each in numbers])[:-1]
    return np.split(inverse, ends), len(distinct)


class _Known:
    """The values seen so far, and their numbers."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}
        self._count = 0

    def numbered(self, column: Values) -> Ints:
        """A column's values by their numbers; `MISSING` stays."""
        absent = column.numbers == MISSING
        if column.objects is None:
            objects, places = np.unique(column.numbers, return_inverse=True)
            numbers = self._add(objects.tolist())
        else:
            places = np.where(absent, 0, column.numbers)
            numbers = self._add(column.objects)
        table = np.array(numbers or [MISSING], dtype=np.int64)
        return np.where(absent, MISSING, table[places])

    def _add(self, values: Sequence[Hashable]) -> list[int]:
        """The numbers of distinct values."""
        known = self._known
        new = [value for value in values if value not in known] if known else values
        known.update(zip(new, range(self._count, self._count + len(new)), strict=True))
        self._count += len(new)
        return [known[value] for value in values]
