"""A history's operations and a model's states as small integers, for the search.

Operations with the same function, argument and result have the same **type**. States are numbered
in the order in which they occur. The effect of a type on a state is computed once by the model and
cached, so that a search calls the model only for new pairs. All histories of one model can share
the cache (`Transitions`).

The C extension has the same classes.
"""

import sys
import weakref
from collections.abc import Callable, Hashable
from itertools import zip_longest

from rumpus.checker.deciders.operation_table import INFO, OK, OperationTable
from rumpus.checker.deciders.values import MISSING, Ints, Values
from rumpus.checker.models.model import ILLEGAL, REFUSED, UNKNOWN, Model

NOT_LEGAL = -1
"""In place of a state: the operation cannot have that result in the state before."""

_CELL_BYTES = 100


class WrongModel(TypeError):  # noqa: N818 - reads as the state it names
    """A model does not do what it declares."""


def _size(state: Hashable, before: Hashable) -> int:
    """The size of a state without those of its parts that are in the state before, too."""
    size = sys.getsizeof(state, 64)
    if isinstance(state, tuple):
        known = before if isinstance(before, tuple) else ()
        for part, was in zip_longest(state, known[: len(state)]):
            if isinstance(part, tuple | frozenset) and part is not was:
                size += sys.getsizeof(part, 64)
    return size


class _Row(dict[int, int]):
    """The states after each type in one state; asks the model for new ones."""

    __slots__ = ("ask", "state")

    def __init__(self, state: int, ask: Callable[[int, int], int]) -> None:
        self.state = state
        self.ask = ask

    def __missing__(self, type_: int) -> int:
        after = self[type_] = self.ask(self.state, type_)
        return after


class Transitions:
    """The states and types of one model, and the transitions computed so far.

    Attributes:
        state_bytes: the approximate size of the states.
    """

    def __init__(self, model: Model) -> None:
        # The cache of a model must not keep the model alive.
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
        self.state_bytes = 0
        self.misses = 0
        self.initial = self._state_number(model.initial)

    @property
    def bytes(self) -> int:
        """The approximate size in memory."""
        return self.misses * _CELL_BYTES + self.state_bytes

    def type_number(self, f: str, argument: Hashable, result: Hashable) -> int:
        """The number of a type. Equal values of different Python types (1, True) are different."""
        key = (f, argument, type(argument), result, type(result))
        number = self._type_numbers.get(key)
        if number is None:
            number = self._type_numbers[key] = len(self.types)
            self.types.append((f, argument, result))
            self.observes.append(result is REFUSED or f in self._observers)
            self.overwrites.append(result is not REFUSED and f in self._blind)
        return number

    def _state_number(self, state: Hashable, before: Hashable = None) -> int:
        """The number of a state, new or not, which follows another one."""
        number = self._state_numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.rows.append(_Row(number, self._ask))
            self.state_bytes += 500 + _size(state, before)
        return number

    def _ask(self, state: int, type_: int) -> int:
        self.misses += 1
        model = self._model()
        if model is None:
            raise ReferenceError(f"the model {self._name} no longer exists")
        f, argument, result = self.types[type_]
        after = model.step(self.states[state], f, argument, result)
        if after is ILLEGAL:
            return NOT_LEGAL
        number = self._state_number(after, self.states[state])
        if number != state and self.observes[type_]:
            raise WrongModel(
                f"{self._name}: {f} with argument {argument!r} and result {result!r} changed the "
                f"state {self.states[state]!r} to {after!r}, and an observer or a refused "
                "operation changes none"
            )
        return number


class Operations:
    """The operations of some rows of a table, as a search takes them, in order of call.

    Operations that took no effect are left out, and so are observers of unknown outcome: neither
    constrains the order.

    Attributes:
        rows: rows of the table.
        types: their types, numbers in `Transitions`.
        optional: whether the outcome is unknown.
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
