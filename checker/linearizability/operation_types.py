"""A history's operations as small integers: their types, and what each does to each state.

Two operations with the same function, argument and result are of one **type**; a model's states
are numbered in the order in which they are met. What a type does to a state is asked of the
model once and remembered, so that a search calls Python's models only for what is new. The
memory may be shared by all histories of one model (`Transitions`).

This is the plain Python twin of the same classes in the C extension.
"""

import sys
import weakref
from collections.abc import Callable, Hashable

from rumpus.checker.deciders.operation_table import INFO, MISSING, OK, Ints, OperationTable, Values
from rumpus.checker.models.model import ILLEGAL, REFUSED, UNKNOWN, Model

NOT_LEGAL = -1
"""Stands for a state, where an operation cannot have answered that."""

_CELL_BYTES = 100


class WrongModel(TypeError):  # noqa: N818 - reads as the state it names
    """A model does not do what it declares."""


class _Row(dict[int, int]):
    """What each type does to one state; asks the model for what is not known yet."""

    __slots__ = ("ask", "state")

    def __init__(self, state: int, ask: Callable[[int, int], int]) -> None:
        self.state = state
        self.ask = ask

    def __missing__(self, type_: int) -> int:
        after = self[type_] = self.ask(self.state, type_)
        return after


class Transitions:
    """States and types of one model, and the steps between them as far as they were asked for."""

    def __init__(self, model: Model) -> None:
        # The memory of a model must not keep it alive.
        self._model = weakref.ref(model)
        self._name = model.name
        self._observers = model.observers
        self._blind = model.blind
        self.states: list[Hashable] = []
        self.types: list[tuple[str, Hashable, Hashable]] = []
        self.observes: list[bool] = []
        self.overwrites: list[bool] = []
        self.rows: list[_Row] = []
        self._state_numbers: dict[Hashable, int] = {}
        self._type_numbers: dict[Hashable, int] = {}
        self._state_bytes = 0
        self.misses = 0
        self.initial = self._state_number(model.initial)

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return self.misses * _CELL_BYTES + self._state_bytes

    def type_number(self, f: str, argument: Hashable, result: Hashable) -> int:
        """The number of a type. Equal values of other types (1 and True) make other types."""
        key = (f, argument, type(argument), result, type(result))
        number = self._type_numbers.get(key)
        if number is None:
            number = self._type_numbers[key] = len(self.types)
            self.types.append((f, argument, result))
            self.observes.append(result is REFUSED or f in self._observers)
            self.overwrites.append(result is not REFUSED and f in self._blind)
        return number

    def _state_number(self, state: Hashable) -> int:
        number = self._state_numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.rows.append(_Row(number, self._ask))
            self._state_bytes += 500 + sys.getsizeof(state, 64)
        return number

    def _ask(self, state: int, type_: int) -> int:
        self.misses += 1
        model = self._model()
        if model is None:
            raise ReferenceError(f"the model {self._name} is no more")
        f, argument, result = self.types[type_]
        after = model.step(self.states[state], f, argument, result)
        if after is ILLEGAL:
            return NOT_LEGAL
        number = self._state_number(after)
        if number != state and self.observes[type_]:
            raise WrongModel(
                f"{self._name}: {f} with argument {argument!r} and result {result!r} changed the "
                f"state {self.states[state]!r} to {after!r}, and an observer or a refused "
                "operation changes none"
            )
        return number


class Operations:
    """What a search needs to know of some rows of a table, in order of call.

    Left out is what never happened, and observers of unknown outcome, which explain nothing.

    Attributes:
        rows: rows of the table.
        types: numbers in `Transitions`.
        optional: whether nobody knows that it happened.
        call, returned: as in the table.

    Raises:
        ValueError: rows are not in order of call, or one returns before it was called.
    """

    def __init__(
        self,
        transitions: Transitions,
        table: OperationTable,
        arguments: Values,
        refusable: frozenset[str],
        rows: Ints | None = None,
    ) -> None:
        self.transitions = transitions
        self.rows: list[int] = []
        self.types: list[int] = []
        self.optional: list[bool] = []
        self.call: list[int] = []
        self.returned: list[int] = []
        picked = range(len(table)) if rows is None else rows.tolist()
        at = slice(None) if rows is None else rows
        columns = zip(
            picked,
            table.f[at].tolist(),
            table.outcome[at].tolist(),
            table.refused[at].tolist(),
            arguments.numbers[at].tolist(),
            table.result.numbers[at].tolist(),
            table.call[at].tolist(),
            table.returned[at].tolist(),
            strict=True,
        )
        functions = table.functions
        can_refuse = [name in refusable for name in functions]
        observes = transitions.observes
        known: dict[tuple[int, int, int, int], int] = {}
        last = MISSING
        for row, f, outcome, refused, argument, result, call, returned in columns:
            if outcome == OK:
                key = (f, argument, result, OK)
            elif outcome == INFO:
                key = (f, argument, 0, INFO)
            elif refused and can_refuse[f]:
                key = (f, argument, 0, outcome)
            else:
                continue
            number = known.get(key)
            if number is None:
                given = _value(arguments, argument)
                answer = (
                    _value(table.result, result)
                    if outcome == OK
                    else UNKNOWN
                    if outcome == INFO
                    else REFUSED
                )
                number = known[key] = transitions.type_number(functions[f], given, answer)
            if call < last:
                raise ValueError(f"row {row} was called before the row above it")
            last = call
            if outcome == INFO:
                if observes[number]:
                    continue
            elif returned < call:
                raise ValueError(f"row {row} returned before it was called")
            self.rows.append(row)
            self.types.append(number)
            self.optional.append(outcome == INFO)
            self.call.append(call)
            self.returned.append(returned)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def observing(self) -> list[bool]:
        """Which of the operations are observers."""
        observes = self.transitions.observes
        return [observes[type_] for type_ in self.types]


def _value(column: Values, number: int) -> Hashable:
    if number == MISSING:
        return None
    return number if column.objects is None else column.objects[number]
