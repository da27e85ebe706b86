"""A witness by its definition: the few operations that contradict each other, all others forgotten.

For refusals that count (so many versions, and too few writes for them) there is no telling the
operations by one look: they are found by deciding the history anew with operations forgotten. To
forget more only adds possible orders, so one pass is enough (deletion-based, as for minimal
unsatisfiable cores: Marques-Silva, Minimal unsatisfiability, ISMVL 2010).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.operation_table import (
    FAIL,
    INFO,
    MISSING,
    NEVER,
    OperationTable,
    Values,
)

ALWAYS_MINIMAL = 1_000
"""Up to so many rows in a table, a witness is always minimal."""

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
    rows, minimal = minimal_witness(table, found.rows, lambda part: find(part) is not None)
    # Of the few that are left there may be less to tell.
    shown = find(forgetting(table, rows))
    assert shown is not None
    return refused(rows, shown.words(table), minimal=minimal)


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
    refuses: Callable[[OperationTable], bool],
) -> tuple[list[int], bool]:
    """Rows that contradict each other and, as far as possible, are all needed.

    Args:
        table: a history that is refused.
        candidates: rows among which a contradiction is believed to be, those to be forgotten
            first in front; all others are tried if there is none.
        refuses: whether a table is refused.

    Returns:
        The rows, growing; and whether none of them can be forgotten.
    """
    rest = [int(row) for row in candidates]
    work = len(table)
    if len(rest) < len(table) and not refuses(forgetting(table, rest)):
        rest += sorted(set(range(len(table))).difference(rest))
    kept: list[int] = []
    run = max(1, len(rest) // 2)
    while rest:
        work += len(table)
        if work > MOST_WORK and len(table) > ALWAYS_MINIMAL:
            return sorted([*kept, *rest]), False
        tried, rest = rest[:run], rest[run:]
        if refuses(forgetting(table, [*kept, *rest])):
            run *= 2
        elif run == 1:
            kept += tried
        else:
            rest = [*tried, *rest]
            run = max(1, len(tried) // 2)
    return sorted(kept), True
