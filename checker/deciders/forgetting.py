"""Minimal witnesses by deciding a history again and again, with more operations forgotten.

Some refusals count operations (there are more versions than writes). Then it is not clear which
operations are needed for the contradiction. They are found by forgetting the others step by step
(`checker.deciders.minimal_rows`; `checker.deciders.decision.Witness` defines "forgotten").
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.minimal_rows import MOST, Needed, minimise
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OperationTable
from rumpus.checker.deciders.values import MISSING, Values

MOST_WORK = 10_000_000
"""In tables of more than `MOST` rows: how many rows in all are decided again for a witness."""


class Contradiction(NamedTuple):
    """Rows that contradict each other, and why.

    Attributes:
        rows: rows that probably contain a contradiction, in the order in which to forget them.
        words: the reason in words, given the table of the whole history.
        surely: whether the rows are known to be a minimal witness.
    """

    rows: Sequence[int]
    words: Callable[[OperationTable], str]
    surely: bool = False


def contradicting(
    rows: Sequence[int],
    told: Callable[[OperationTable, int], str],
    why: str,
    *,
    surely: bool = False,
) -> Contradiction:
    """A contradiction of a few rows, each named in the words: ``<one>, and <other>: <why>``.

    Args:
        rows: the rows.
        told: puts an operation into words.
        why: why they contradict each other.
        surely: as in `Contradiction`.
    """
    return Contradiction(
        rows,
        lambda table: f"{', and '.join(told(table, row) for row in rows)}: {why}",
        surely=surely,
    )


def refusal(
    table: OperationTable,
    found: Contradiction,
    find: Callable[[OperationTable], Contradiction | None],
) -> Decision:
    """The refusal of a history, with a witness that is minimal if possible.

    Args:
        table: the history.
        found: the contradiction found in it.
        find: finds a contradiction in a table of the same rows, which need not be in order of
            call.
    """
    if found.surely:
        return refused(found.rows, found.words(table))
    left = minimal_witness(table, found.rows, lambda part: find(part) is not None)
    # Among the rows that are left the reason may be another, simpler one.
    shown = find(forgetting(table, left.rows))
    assert shown is not None
    return refused(left.rows, shown.words(table), minimal=not left.doubtful)


def forgetting(table: OperationTable, kept: Sequence[int]) -> OperationTable:
    """The table with all rows forgotten but those to keep.

    Rows keep their positions, so the table is no longer in order of call.
    """
    forgotten = np.ones(len(table), dtype=np.bool_)
    forgotten[list(kept)] = False
    # A failed operation stays failed, for it never took effect.
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
        ticks=table.ticks,
        told=table.told,
    )


def minimal_witness(
    table: OperationTable,
    candidates: Sequence[int],
    refuses: Callable[[OperationTable], bool | None],
) -> Needed:
    """A minimal set of rows that contradict each other, as far as it can be found.

    Args:
        table: a history that is refused.
        candidates: rows that probably contain a contradiction, in the order in which to forget
            them. If they contain none, all other rows are added.
        refuses: whether a table is refused; None if that is unknown.
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
