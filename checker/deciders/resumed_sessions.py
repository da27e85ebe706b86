"""Sessions that clients resumed, as operations that show that they lived.

The deciders of locks know of a session only what operations show. A record ``connected`` of a
client in a session that it had before shows that it had not ended
(`checker.deciders.ended_sessions`).
"""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.deciders.operation_table import OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints, Values

Number = TypeVar("Number", bound=np.generic)

_LIVES = "work"
"""An operation that shows that a session lives, and nothing else, to the models that know it."""


class Resumed(NamedTuple):
    """A table with operations of resumed sessions, and these sessions."""

    table: OperationTable
    sessions: list[Hashable]


def with_resumed_sessions(entry: ModelEntry, table: OperationTable) -> Resumed | None:
    """The table, and a row of a process of its own for each session that was resumed.

    Args:
        entry: the model. One that knows no ``work`` looks at sessions otherwise.
        table: the history.

    Returns:
        None if no record says more of a session than its operations do.
    """
    if not table.told.lived or _LIVES not in entry.functions:
        return None
    found = sorted(_rows(table))
    if not found:
        return None
    rows = np.array([row for _, row in found], dtype=np.int64)
    times = np.array([time for time, _ in found], dtype=np.int64)
    sessions = table.fields["session"]
    names = list(dict.fromkeys(sessions[row] for row in rows.tolist()))
    return Resumed(_joined(table, rows, times), names)


def _rows(table: OperationTable) -> Iterator[tuple[int, int]]:
    """Of each object, and each session that was resumed after the last use: when, and a row."""
    sessions, keys = table.fields["session"], table.field("key").numbers
    rows = np.flatnonzero(sessions.present & (table.outcome == OK))
    last: dict[tuple[int, int], int] = {}
    for row in rows.tolist():
        last[int(sessions.numbers[row]), int(keys[row])] = row
    for row in last.values():
        time = table.told.lived.get(sessions[row], MISSING)
        if time > int(table.call[row]):
            yield time, row


def _joined(table: OperationTable, rows: Ints, times: Ints) -> OperationTable:
    """The table with one more row for each of ``rows``: at that time its session lived."""
    functions = tuple(dict.fromkeys((*table.functions, _LIVES)))
    more = len(rows)
    order = np.argsort(np.concatenate((table.call, times)), kind="stable")
    processes = int(table.process.max()) + 1 + np.arange(more)

    def beside(column: NDArray[Number], added: Ints | int) -> NDArray[Number]:
        joined = np.concatenate((column, np.full(more, added, dtype=column.dtype)))
        return joined[order]

    def values(column: Values, *, kept: bool = False) -> Values:
        added = column.numbers[rows] if kept else MISSING
        return Values(beside(column.numbers, added), column.objects)

    return replace(
        table,
        functions=functions,
        f=beside(table.f, functions.index(_LIVES)),
        outcome=beside(table.outcome, OK),
        process=beside(table.process, processes),
        call=beside(table.call, times),
        returned=beside(table.returned, times),
        argument=values(table.argument),
        result=values(table.result),
        fields={
            name: values(column, kept=name in ("key", "session"))
            for name, column in table.fields.items()
        },
        refused=beside(table.refused, 0),
        index=beside(table.index, table.index[rows]),
        completion=beside(table.completion, -1),
    )
