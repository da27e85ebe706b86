"""Whether anything in a history could have been wrong under its model.

One grant, or elements that were only put in, contradict nothing whatever had been answered: that
such a history follows its model says nothing of the system. So answers are changed one by one, in a
part of the history that grows, until the model finds one of these changes wrong. That is mutation
testing (DeMillo, Lipton and Sayward, "Hints on test data selection", 1978) of histories.

**Cost**: mostly one more decision, of the first 64 operations; of a history in which nothing can be
wrong, some dozens of decisions of all of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rumpus.checker.deciders.decide import NO_PART, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.ended_sessions import SessionRecords
from rumpus.checker.deciders.operation_table import FAIL, OK, OperationTable
from rumpus.checker.deciders.values import Values, WrongOperations
from rumpus.checker.valid import Valid

_SIZES: Final = (64, 512, 4_096)
"""So many operations, from the first on, are looked at before the whole history."""

_EACH: Final = 8
"""Of how many operations of each function the answers are changed."""

_ORDERED: Final = ("token", "version", "zxid", "epoch")
"""Fields that grow."""


def could_be_wrong(
    entry: ModelEntry,
    table: OperationTable,
    decide: Callable[[OperationTable], Decision],
    budget: Budget,
) -> bool:
    """Whether the history would not be valid if some answer were another.

    Args:
        entry: the model.
        table: a history that follows it.
        decide: decides a history by the model; ``WrongOperations`` if it is none of the model's.
        budget: if it is used up, the answer is yes.
    """
    for size in (*(each for each in _SIZES if each < len(table)), len(table)):
        part = table.take(np.arange(size))
        if _valid(decide, part) is not True:
            continue  # without what came later an early answer may be wrong
        if any(_valid(decide, each) in (False, "unknown") for each in _changed(entry, part)):
            return True
        if budget.spent:
            return True
    return False


def _valid(decide: Callable[[OperationTable], Decision], table: OperationTable) -> Valid | None:
    """None if it is no history of the model's."""
    try:
        return decide(table).valid
    except WrongOperations:
        return None


def _changed(entry: ModelEntry, table: OperationTable) -> Iterator[OperationTable]:
    """The history with one answer changed, in many ways."""
    yield replace(table, told=SessionRecords())
    results = table.result.tolist()
    for name in table.functions:
        part = entry.functions.get(name, NO_PART) != NO_PART
        rows = np.flatnonzero(table.is_f(name) & ((table.outcome == OK) | table.refused))
        told = list(dict.fromkeys(results[row] for row in rows if table.outcome[row] == OK))
        for row in map(int, rows[np.linspace(0, len(rows) - 1, min(_EACH, len(rows)), dtype=int)]):
            if part:
                yield from _otherwise(table, row, results, told)
            if table.field("session")[row] is not None:
                yield _with_field(table, row, "session", None)


def _otherwise(
    table: OperationTable, row: int, results: list[Any], told: list[Any]
) -> Iterator[OperationTable]:
    """The history with the answer of one operation changed."""
    outcome, refused = table.outcome.copy(), table.refused.copy()
    was = results[row]
    if table.outcome[row] == OK:
        for other in dict.fromkeys([*[each for each in told if each != was][:2], *_others(was)]):
            yield replace(table, result=_with(results, row, other))
        for name in _ORDERED:
            if name in table.fields:
                yield from _other_field(table, row, name)
        outcome[row] = FAIL
        for answer in (False, True):
            refused[row] = answer
            yield replace(
                table, outcome=outcome, refused=refused.copy(), result=_with(results, row, None)
            )
    else:
        outcome[row], refused[row] = OK, False
        for other in told[:2] or [None]:
            yield replace(
                table, outcome=outcome, refused=refused, result=_with(results, row, other)
            )


def _other_field(table: OperationTable, row: int, name: str) -> Iterator[OperationTable]:
    column = table.fields[name].tolist()
    if isinstance(column[row], int):
        numbers = [each for each in column if isinstance(each, int)]
        for other in (min(numbers) - 1, max(numbers) + 1):
            yield _with_field(table, row, name, other)


def _with_field(table: OperationTable, row: int, name: str, other: Any) -> OperationTable:
    changed = _with(table.fields[name].tolist(), row, other)
    return replace(table, fields={**table.fields, name: changed})


def _others(value: Any) -> list[Any]:
    """Values like this one that are others."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [f"{value}?"]
    return [] if value is None else [None]


def _with(values: list[Any], row: int, other: Any) -> Values:
    return Values.of([*values[:row], other, *values[row + 1 :]])
