"""The tokens of grants, and which acquires are no grants of their own.

A fencing token is a number that a lock or an election gives with each grant, so that the
protected resource can refuse whoever comes with a lower one than it has seen (Burrows, The
Chubby lock service for loosely-coupled distributed systems, OSDI 2006, "sequencers"; an
election's epoch is the same thing).
"""

import numpy as np
from numpy.typing import NDArray

from checker.operation_table import (
    FAIL,
    MISSING,
    NEVER,
    OK,
    Ints,
    OperationTable,
    Values,
    WrongOperations,
)

GRANTS = ("acquire", "lock", "campaign", "elect")
"""Functions that are granted, under all their names."""

RELEASES = ("release", "unlock", "resign")
"""Functions that give a grant back."""

ACTS = ("work", "lead")
"""What a holder does with it: recorded by runs, and evidence that its session lives."""


def tokens(table: OperationTable, rows: Ints, *fields: str) -> Ints:
    """The tokens of some grants, `MISSING` where there is none.

    Args:
        table: the operations.
        rows: acknowledged grants. Their result is the token itself, or a field is; a result of
            true or false is no token.
        fields: names of fields; the first that a row has counts.

    Raises:
        WrongOperations: a token is no integer, or one beyond 64 bits.
    """
    found = _integers(table.result, rows, "token")
    for name in reversed(fields):
        if name in table.fields:
            column = _integers(table.fields[name], rows, name)
            found = np.where(column == MISSING, found, column)
    return found


def _integers(values: Values, rows: Ints, what: str) -> Ints:
    numbers = values.numbers[rows]
    if values.objects is None:
        return numbers
    meaning = np.full(len(values.objects) + 1, MISSING, dtype=np.int64)
    present = numbers != MISSING
    for number in np.unique(numbers[present]).tolist():
        value = values.objects[number]
        if type(value) is int and MISSING < value < NEVER:
            meaning[number] = value
        elif type(value) is not bool:
            raise WrongOperations(f"a {what} must be an integer of 64 bits, and {value!r} is not")
    return meaning[np.where(present, numbers, -1)]


def reentries(table: OperationTable, granted: Ints, token: Ints) -> NDArray[np.bool_]:
    """Which grants are of a process that holds already, and is given the same token: no new ones.

    So it is with a re-entrant lock. Every acknowledged release undoes one of its acquires; one
    of unknown outcome may have done nothing. One pass in plain Python: only called when tokens
    look wrong.

    Args:
        table: the operations.
        granted: rows of acknowledged grants, growing.
        token: theirs.
    """
    again = np.zeros(len(granted), dtype=np.bool_)
    held: dict[int, tuple[int, int]] = {}
    released = np.flatnonzero((table.outcome == OK) & table.is_f(*RELEASES))
    places = np.concatenate((np.arange(len(granted)), np.full(len(released), -1)))
    order = np.argsort(np.concatenate((granted, released)), kind="stable")
    processes = np.concatenate((table.process[granted], table.process[released]))
    for place, process in zip(places[order].tolist(), processes[order].tolist(), strict=True):
        number, depth = held.get(process, (MISSING, 0))
        if place < 0:
            held[process] = (number, max(depth - 1, 0))
        elif depth and token[place] == number:
            again[place] = True
            held[process] = (number, depth + 1)
        else:
            held[process] = (int(token[place]), 1)
    return again


def own_operations(table: OperationTable, first: int, last: int) -> list[int]:
    """All acquires and releases of a row's process from one row to another."""
    rows = np.arange(first, last + 1)
    own = table.process[rows] == table.process[first]
    happened = table.outcome[rows] != FAIL
    locks = table.is_f(*GRANTS, *RELEASES)[rows]
    return [int(row) for row in rows[own & happened & locks]]
