"""The witness of a history that is not linearizable: its rows and its description."""

from collections.abc import Callable, Hashable
from typing import Any

from rumpus.checker.deciders.decision import Budget, Witness
from rumpus.checker.deciders.operation_table import INFO, OK, OperationTable
from rumpus.checker.deciders.values import Values
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.minimal_witness import minimal_positions
from rumpus.checker.models.model import REFUSED, UNKNOWN, Model

LONGEST_EXPLANATION_S = 30.0
"""Seconds for the search of a minimal witness if the budget has no limit."""
LEAST_PATIENCE, PATIENCE = 1_000, 20
"""Configurations that the first tests without some operations may visit: so many, and so many for
each configuration that the search visited."""
NAMED_STATES = 5
"""Descriptions name up to so many states."""
MOST_STATES = 100
"""Witnesses list up to so many states."""
LONGEST_STATE = 10_000
"""The most characters of a state in words: a queue may have millions of elements."""


def explain_refusal(
    model: Model,
    table: OperationTable,
    arguments: Values,
    transitions: Any,
    operations: Any,
    ended: Any,
    search: Callable[..., Any],
    budget: Budget,
    *,
    minimise: bool,
) -> Witness:
    """The witness of an independent part of a history that is not linearizable.

    Args:
        model: the model.
        table: the whole history.
        arguments: `Model.arguments` of the table.
        transitions: those of the model.
        operations: those of the part.
        ended: the search that ended with "no".
        search: makes another search over the operations, with some of them forgotten.
        budget: half of the time that is left of it may be used to make the witness minimal, and
            all memory that is left.
        minimise: whether to make the witness minimal; otherwise it is all operations that were
            called before the stuck operation returned.
    """
    rows = operations.rows
    order, changed = ended.prefix()
    prefix = [rows[k] for k in order]
    stuck = ended.stuck()
    states = ended.states()
    if minimise:
        now = budget.clock()
        end = now + min((budget.deadline - now) / 2, LONGEST_EXPLANATION_S)
        patience = LEAST_PATIENCE + PATIENCE * ended.configurations
        held = ended.bytes

        def is_spent(more: int = 0) -> bool:
            size = held + transitions.bytes + more
            return budget.clock() >= end or (budget.bytes is not None and size > budget.bytes)

        positions, minimal = minimal_positions(operations, search, stuck, patience, is_spent)
        found = [rows[k] for k in positions]
    else:
        minimal = False
        found = [row for row in rows if table.call[row] <= table.returned[rows[stuck]]]
    at_stuck = rows[stuck]
    call, returned = int(table.call[at_stuck]), int(table.returned[at_stuck])
    after = "" if changed is None else f" (after {_says(model, table, arguments, rows[changed])})"
    return Witness(
        operations=found,
        description=f"{_says(model, table, arguments, at_stuck)} (called "
        f"{_at(table, call, returned)}, returned {_at(table, returned, call)}) cannot follow: "
        f"the state could only be {_any_of(model, states)}{after}",
        minimal=minimal,
        prefix=prefix,
        stuck=at_stuck,
        states=_in_words(model, states),
    )


def _at(table: OperationTable, time: int, other: int) -> str:
    return f"at {words}" if (words := at(table, time, other)).startswith("position") else words


def _says(model: Model, table: OperationTable, arguments: Values, row: int) -> str:
    """An operation in words: ``process 3's read() -> 2``."""
    outcome = table.outcome[row]
    result = table.result[row] if outcome == OK else UNKNOWN if outcome == INFO else REFUSED
    return f"{who(table, row)}'s {model.describe(table.function(row), arguments[row], result)}"


def _in_words(model: Model, states: list[Hashable]) -> list[str]:
    words = [_shortened(model.describe_state(state)) for state in states[:MOST_STATES]]
    if len(states) > MOST_STATES:
        words.append(f"and {len(states) - MOST_STATES:,} more")
    return words


def _shortened(words: str) -> str:
    left_out = len(words) - LONGEST_STATE
    return words if left_out <= 0 else f"{words[:LONGEST_STATE]}... ({left_out:,} more characters)"


def _any_of(model: Model, states: list[Hashable]) -> str:
    named = [_shortened(model.describe_state(state)) for state in states[:NAMED_STATES]]
    if len(states) > NAMED_STATES:
        named.append(f"one of {len(states) - NAMED_STATES} more")
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"
