"""What was written and what was read, under one numbering."""

from collections.abc import Hashable, Sequence

import numpy as np

from checker.operation_table import MISSING, Ints, Values


def one_numbering(columns: Sequence[Values]) -> tuple[list[Ints], int]:
    """The values of several columns as numbers from 0: equal numbers for equal values.

    Values are equal if they are and have the same type; the absent value is a value too.

    Returns:
        The numbers of each column, and how many there may be at most (the largest, plus one).
        They are below four times the number of values, and a few.
    """
    if all(column.objects is None for column in columns):
        numbers = [column.numbers for column in columns]
    else:
        known: dict[tuple[type, Hashable], int] = {}
        numbers = [_numbered(column, known) for column in columns]
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


def _numbered(column: Values, known: dict[tuple[type, Hashable], int]) -> Ints:
    """A column's values by their place in ``known``, which is added to."""
    objects: Sequence[Hashable]
    if column.objects is None:
        distinct, places = np.unique(column.numbers, return_inverse=True)
        objects = distinct.tolist()
        absent = column.numbers == MISSING
    else:
        objects = column.objects
        absent = column.numbers == MISSING
        places = np.where(absent, 0, column.numbers)
    table = [known.setdefault((type(each), each), len(known)) for each in objects] or [MISSING]
    return np.where(absent, MISSING, np.array(table, dtype=np.int64)[places])
