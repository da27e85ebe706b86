"""The tokens of grants, and the re-entrant acquires, which are not grants of their own.

A fencing token is a number that a lock or an election gives with each grant, so that the
protected resource can refuse requests with a lower one than it has seen (Burrows, The
Chubby lock service for loosely-coupled distributed systems, OSDI 2006, "sequencers"; an
election's epoch is the same thing).
"""

from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, RELEASES, TRY
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OperationTable
from rumpus.checker.deciders.typed_values import Truth
from rumpus.checker.deciders.values import MISSING, Ints, Values, WrongOperations

GRANTS = (*ACQUIRES, TRY)
"""Functions that are granted, under all their names."""

LOST = "lost"
"""The function that records that a leader learned that it no longer leads."""

ENDS = (*RELEASES, LOST)
"""Functions after which a process holds nothing of its last grant."""


def tokens(table: OperationTable, rows: Ints, *fields: str) -> Ints:
    """The tokens of some grants, `MISSING` where there is none.

    Args:
        table: the operations.
        rows: acknowledged grants. Their result is the token itself, or a field is; a result of
            true or false is no token, a field of true or false is a mistake.
        fields: names of fields; the first that a row has counts.

    Raises:
        WrongOperations: a token is not an integer of 64 bits.
    """
    found = _integers(table.result, rows, "token", besides=(Truth,))
    for name in reversed(fields):
        if name in table.fields:
            column = _integers(table.fields[name], rows, name)
            found = np.where(column == MISSING, found, column)
    return found


def _integers(values: Values, rows: Ints, what: str, besides: tuple[type, ...] = ()) -> Ints:
    numbers = values.numbers[rows]
    if values.objects is None:
        return numbers
    meaning = np.full(len(values.objects) + 1, MISSING, dtype=np.int64)
    present = numbers != MISSING
    for number in np.unique(numbers[present]).tolist():
        value = values.objects[number]
        if type(value) is int and MISSING < value < NEVER:
            meaning[number] = value
        elif type(value) not in besides:
            raise WrongOperations(f"{what}s must be integers of 64 bits, and {value!r} is not")
    return meaning[np.where(present, numbers, -1)]


class Reentries(NamedTuple):
    """Acquires and releases of a process within a hold of its own.

    Attributes:
        again: rows of acquires by a process that holds already, and is given the same token in
            the same session: no new grants.
        inner: rows of releases that only undo one of these.
    """

    again: Ints
    inner: Ints


def reentries(table: OperationTable, granted: Ints, token: Ints) -> Reentries:
    """Find the re-entrant acquires, and the releases that belong to them.

    Every release undoes one acquire, also a release of unknown outcome, as its process ends then.
    One pass in plain Python: only called when tokens look wrong.

    Args:
        table: the operations.
        granted: rows of acknowledged grants, ascending.
        token: theirs.
    """
    again: list[int] = []
    inner: list[int] = []
    held: dict[int, tuple[tuple[int, int], int]] = {}
    released = np.flatnonzero((table.outcome != FAIL) & table.is_f(*ENDS))
    rows = np.concatenate((granted, released))
    tokens_ = np.concatenate((token, np.full(len(released), MISSING)))
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    columns = (rows, table.process[rows], table.field("session").numbers[rows], tokens_[order])
    for row, process, session, number in zip(*(c.tolist() for c in columns), strict=True):
        hold, depth = held.get(process, ((MISSING, MISSING), 0))
        if number == MISSING:
            if depth > 1:
                inner.append(row)
            held[process] = (hold, max(depth - 1, 0))
        elif depth and hold == (session, number):
            again.append(row)
            held[process] = (hold, depth + 1)
        else:
            held[process] = ((session, number), 1)
    return Reentries(np.array(again, dtype=np.int64), np.array(inner, dtype=np.int64))


def with_reentries(decision: Decision, table: OperationTable, found: Reentries) -> Decision:
    """A refusal, with the operations inside the holds of its witness added to the witness.

    Without them an inner release could be the outermost one. They may not all be needed.
    """
    witness = decision.witness
    if witness is None:
        return decision
    nesting = np.unique(table.process[found.again])
    for process in np.intersect1d(nesting, table.process[witness.operations]).tolist():
        own = (table.process == process) & table.is_f(*GRANTS, *ENDS)
        rows = np.flatnonzero(own & (table.outcome != FAIL))
        new = np.isin(rows, found.again, invert=True) & table.is_f(*GRANTS)[rows]
        told = np.isin(rows, witness.operations)
        number = np.cumsum(new)
        first, last = number[told].min(), number[told].max()
        more = rows[(number >= first) & (number <= last)]
        witness.operations = sorted({*witness.operations, *more.tolist()})
        witness.minimal = False
    return decision


def own_operations(table: OperationTable, first: int, last: int) -> list[int]:
    """All acquires and releases of a row's process from it to another row of its."""
    own = (table.process[first : last + 1] == table.process[first]) & (
        table.outcome[first : last + 1] != FAIL
    )
    return [
        first + int(at) for at in np.flatnonzero(own & table.is_f(*GRANTS, *ENDS)[first : last + 1])
    ]
