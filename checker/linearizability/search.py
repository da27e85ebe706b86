"""The general search: whether a history is linearizable with regard to any model.

The operations of each independent part (each value of the table's ``key``, each of the model's
partitions) are searched separately: a history is linearizable iff each of its parts is (Herlihy
and Wing 1990, section 3.2: locality). The parts are searched in rounds, with ten times as many
configurations in each round, so that an expensive part does not hide a simple violation in
another.

`checker.linearizability.windowed_search` describes the search of one part and proves it correct.
There is also a C extension of it, which is used if it could be built.
"""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision, accepted, undecided
from rumpus.checker.deciders.operation_table import INFO, OK, OperationTable
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.linearizability import operation_types
from rumpus.checker.linearizability.explanation import explain_refusal
from rumpus.checker.linearizability.windowed_search import InTurns, Search
from rumpus.checker.models.model import REFUSED, UNKNOWN, Model

ALGORITHM = "windowed search"
FIRST_ALLOWANCE = 1_000
"""Configurations of each part in the first round."""
FIRST_SLICE = 100
"""After so many configurations the budget is checked for the first time."""
SLICE_S = 0.01
"""About how many seconds pass until the budget is checked again, however slow a model is."""
SHARED_BYTES = 64 << 20
"""Larger caches of transitions are not kept for the next history."""
NAMED_PARTS = 5
"""An undecided history names up to so many undecided parts."""

Backend = Literal["auto", "python", "c"]


@dataclass(frozen=True)
class Engine:
    """One of the two implementations of the search."""

    name: str
    transitions: Callable[..., Any]
    operations: Callable[..., Any]
    search: Callable[..., Any]


PYTHON = Engine(
    "plain Python",
    operation_types.Transitions,
    operation_types.Operations,
    Search,
)
C: Engine | None = None
WHY_NOT_C = ""
try:
    from rumpus.checker.linearizability import _windowed_search
except ImportError as problem:  # without a compiler it is not built
    WHY_NOT_C = str(problem)
else:
    C = Engine(
        "C extension",
        _windowed_search.Transitions,
        _windowed_search.Operations,
        _windowed_search.Search,
    )
_known = threading.local()


def engine(backend: Backend = "auto") -> Engine:
    """The implementation to use.

    Raises:
        ImportError: the C extension is asked for and could not be imported.
    """
    if backend == "python":
        return PYTHON
    if C is None:
        if backend == "c":
            raise ImportError(f"the C extension of the search is not there: {WHY_NOT_C}")
        return PYTHON
    return C


def check_linearizable(
    model: Model,
    table: OperationTable,
    budget: Budget,
    *,
    backend: Backend = "auto",
    explain: bool = True,
) -> Decision:
    """Whether the operations are linearizable with regard to a model.

    A failed operation took no effect, unless it was refused and the model says that a refusal is
    an answer. An operation of unknown outcome may have taken effect at any time after its call, or
    never.

    Args:
        model: its methods are pure, its states hashable.
        table: the whole history; its field ``key`` names independent objects.
        budget: when it is spent the answer is "unknown", with the parts that are undecided. The
            search for a minimal witness may use what is left of it.
        backend: "c" or "python" for one implementation, "auto" for C if it can be imported.
        explain: whether to look for a minimal witness. Otherwise the witness of a "no" is all
            operations up to the one that cannot follow the longest prefix.

    Raises:
        WrongOperations: the model does not know an operation.
        ImportError: the C extension is asked for and could not be imported.
        Exception: whatever the model raises.
    """
    _refuse_unknown_functions(model, table)
    using = engine(backend)
    arguments = model.arguments(table)
    transitions = _transitions(model, using, budget)
    parts = _parts(model, table, arguments)
    turns = [_Turn(part, rows) for part, rows in parts]
    held = 0
    allowance = FIRST_ALLOWANCE
    while turns:
        still_open: list[_Turn] = []
        for number, turn in enumerate(turns):
            if turn.search is None:
                turn.operations = using.operations(
                    transitions, table, arguments, model.refusable, turn.rows
                )
                turn.search = InTurns(using.search, turn.operations)
            held -= turn.bytes
            left = allowance
            answer = None
            while answer is None and left > 0:
                size = min(left, turn.slice)
                answer = turn.run(size, budget)
                left -= size
                if answer is None and (
                    why := _spent(budget, held + turn.bytes + transitions.bytes)
                ):
                    open_ = [turn, *still_open, *turns[number + 1 :]]
                    return _name(model, table, undecided(*_open_ends(why, open_, len(parts))))
            if answer is False:
                witness = explain_refusal(
                    model,
                    table,
                    arguments,
                    transitions,
                    turn.operations,
                    turn.search.ended,
                    using.search,
                    budget,
                    minimise=explain,
                )
                return _name(model, table, Decision(valid=False, witness=witness))
            if answer is None:
                still_open.append(turn)
                held += turn.bytes
        turns = still_open
        allowance *= 10
    return _name(model, table, accepted())


class _Turn:
    """A part of the history and its search, with the memory that it takes."""

    __slots__ = ("bytes", "operations", "part", "rows", "search", "slice")

    def __init__(self, part: Hashable, rows: Ints | None) -> None:
        self.part = part
        self.rows = rows
        self.bytes = 0
        self.operations: Any = None
        self.search: Any = None
        self.slice = FIRST_SLICE

    def run(self, configurations: int, budget: Budget) -> bool | None:
        """Continue the search; adapts ``slice``, the configurations that take `SLICE_S`."""
        began = budget.clock()
        answer: bool | None = self.search.run(configurations)
        took = budget.clock() - began
        self.slice = self.slice * 2 if took < SLICE_S else max(1, self.slice // 2)
        self.bytes = self.search.bytes
        return answer


def _name(model: Model, table: OperationTable, decision: Decision) -> Decision:
    decision.model = model.name
    decision.algorithm = ALGORITHM
    decision.operations = len(table)
    return decision


def _refuse_unknown_functions(model: Model, table: OperationTable) -> None:
    if model.functions.issuperset(table.functions):
        return
    used = {table.functions[number] for number in np.unique(table.f).tolist()}
    if unknown := sorted(used - model.functions):
        raise WrongOperations(
            f"{model.name} knows no operation {', '.join(map(repr, unknown))}; "
            f"it knows {', '.join(sorted(model.functions))}"
        )


def _transitions(model: Model, using: Engine, budget: Budget) -> Any:
    """The cached transitions of the model from earlier histories in this thread."""
    tables: WeakKeyDictionary[Model, dict[str, Any]]
    try:
        tables = _known.tables
    except AttributeError:
        tables = _known.tables = WeakKeyDictionary()
    of_model = tables.setdefault(model, {})
    transitions = of_model.get(using.name)
    most = SHARED_BYTES if budget.bytes is None else min(SHARED_BYTES, budget.bytes // 4)
    if transitions is None or transitions.bytes > most:
        transitions = of_model[using.name] = using.transitions(model)
    return transitions


def _parts(
    model: Model, table: OperationTable, arguments: Values
) -> list[tuple[Hashable, Ints | None]]:
    """The independent parts and their rows in order of call; None for all rows."""
    keys = table.fields.get("key")
    if type(model).partition is Model.partition:
        if keys is None or not len(table) or (keys.numbers == keys.numbers[0]).all():
            return [(None, None)]
        order = np.argsort(keys.numbers, kind="stable")
        starts = np.flatnonzero(np.diff(keys.numbers[order])) + 1
        return [(keys[int(rows[0])], rows) for rows in np.split(order, starts)]
    groups: dict[Hashable, list[int]] = {}
    for row, outcome in enumerate(table.outcome.tolist()):
        result = table.result[row] if outcome == OK else UNKNOWN if outcome == INFO else REFUSED
        part = model.partition(table.function(row), arguments[row], result)
        groups.setdefault(part if keys is None else (keys[row], part), []).append(row)
    return [(part, np.array(rows, dtype=np.int64)) for part, rows in groups.items()]


def _spent(budget: Budget, size: int) -> str | None:
    """Why the search must end now; None if it may continue."""
    if budget.spent:
        return f"the time budget of {budget.seconds:.3g} s is spent"
    if budget.bytes is not None and size > budget.bytes:
        return f"the memory budget of {budget.bytes / 1e6:,.0f} MB is spent"
    return None


def _open_ends(why: str, turns: list[_Turn], total: int) -> list[str]:
    """What is undecided, in words."""
    words = []
    for turn in turns[:NAMED_PARTS]:
        name = "" if turn.part is None else f"part {turn.part!r}: "
        if turn.search is None:
            words.append(f"{name}not begun")
        else:
            words.append(
                f"{name}an order is known for the first {turn.search.reached:,} of "
                f"{turn.search.returns:,} returns, after {turn.search.configurations:,} "
                "configurations"
            )
    if total > 1:
        why = f"{why}; {len(turns):,} of {total:,} independent parts are undecided"
    if len(turns) > NAMED_PARTS:
        words.append(f"and {len(turns) - NAMED_PARTS:,} more parts")
    return [why, *words]
