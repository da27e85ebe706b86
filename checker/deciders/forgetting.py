"""A witness by its definition: the few operations that contradict each other, all others forgotten.

For refusals that count (so many versions, and too few writes for them) there is no telling the
operations by one look: they are found by deciding the history anew with operations forgotten
(`checker.deciders.minimal_rows`).
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.minimal_rows import MOST, Needed, minimise
from rumpus.checker.deciders.operation_table import (
    FAIL,
    INFO,
    MISSING,
    NEVER,
    OperationTable,
    Values,
)

MOST_WORK = 10_000_000
"""How many rows are decided anew for a witness in a longer table."""


class Contradiction(NamedTuple):
    """Rows that cannot be, and why.

    Attributes:
        rows: rows among which a contradiction is believed to be, those to be forgotten first in
            front.
        words: tells why, of the whole history.
        surely: whether the rows are known to be a minimal witness as they are.
    """

    rows: Sequence[int]
    words: Callable[[OperationTable], str]
    surely: bool = False


def refusal(
    table: OperationTable,
    found: Contradiction,
    find: Callable[[OperationTable], Contradiction | None],
) -> Decision:
    """The refusal of a history, with a minimal witness as far as possible.

    Args:
        table: the history.
        found: what was found in it.
        find: finds a contradiction in a table of the same rows, in any order of their calls.
    """
    if found.surely:
        return refused(found.rows, found.words(table))
    left = minimal_witness(table, found.rows, lambda part: find(part) is not None)
    # Of the few that are left there may be less to tell.
    shown = find(forgetting(table, left.rows))
    assert shown is not None
    return refused(left.rows, shown.words(table), minimal=not left.doubtful)


def forgetting(table: OperationTable, kept: Sequence[int]) -> OperationTable:
    """The table with all rows but some taken for what may have happened at any time, or never.

    Rows stay where they are; the table is no longer in order of the calls.
    """
    forgotten = np.ones(len(table), dtype=np.bool_)
    forgotten[list(kept)] = False
    # What failed did not happen; a refusal forgotten says nothing.
    unknown = forgotten & (table.outcome != FAIL)

    def blank(column: Values) -> Values:
        return Values(np.where(forgotten, MISSING, column.numbers), column.objects)

    return OperationTable(
        functions=table.functions,
        f=table.f,
        outcome=np.where(unknown, INFO, table.outcome).astype(np.int8),
        process=table.process,
        call=np.where(forgotten, MISSING, table.call),
        returned=np.where(forgotten, NEVER, table.returned),
        argument=table.argument,
        result=blank(table.result),
        fields={
            name: column if name == "key" else blank(column)
            for name, column in table.fields.items()
        },
        refused=table.refused & ~forgotten,
        index=table.index,
        completion=table.completion,
        start=table.start,
    )


def minimal_witness(
    table: OperationTable,
    candidates: Sequence[int],
    refuses: Callable[[OperationTable], bool | None],
) -> Needed:
    """Rows that contradict each other and, as far as possible, are all needed.

    Args:
        table: a history that is refused.
        candidates: rows among which a contradiction is believed to be, those to be forgotten
            first in front; all others are tried if there is none.
        refuses: whether a table is refused; None if that is not known.
    """
    rows = [int(row) for row in candidates]
    if len(rows) < len(table) and not refuses(forgetting(table, rows)):
        rows += sorted(set(range(len(table))).difference(rows))
    tries = MOST_WORK // max(1, len(table)) if len(table) > MOST else None
    asked = count()
    return minimise(
        rows,
        lambda kept: refuses(forgetting(table, kept)),
        lambda: tries is not None and next(asked) >= tries,
    )
