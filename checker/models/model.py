"""The base class of models: sequential specifications of objects.

A model is a small class::

    class Register(Model):
        name = "register"
        functions = frozenset({"read", "write"})
        observers = frozenset({"read"})

        def step(self, state, f, argument, result):
            if f == "write":
                return argument
            return state if result in (state, UNKNOWN) else ILLEGAL

A history is linearizable with regard to a model if there is a total order of its operations in
which every step is legal, and in which operations that did not overlap keep their order (Herlihy
and Wing, Linearizability: a correctness condition for concurrent objects, TOPLAS 1990).
"""

from collections.abc import Hashable
from enum import Enum
from typing import Final

from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import Values


class Mark(Enum):
    """Marks that cannot be values of a history."""

    ILLEGAL = "illegal"
    UNKNOWN = "unknown"
    REFUSED = "refused"


ILLEGAL: Final = Mark.ILLEGAL
"""`Model.step` returns it if the operation cannot have that result in that state."""

UNKNOWN: Final = Mark.UNKNOWN
"""The result of an operation of unknown outcome that did take effect."""

REFUSED: Final = Mark.REFUSED
"""The result of an operation that the system refused (a cas that found another value)."""


class Model:
    """A sequential object. Subclass it; all methods are pure.

    Attributes:
        name: for messages.
        functions: the operations that it knows.
        initial: the first state; an argument of the constructor replaces it.
        observers: functions that never change the state: in each state they are either illegal
            or leave it unchanged.
        blind: functions that overwrite the whole state: legal in every state, and the state after
            them depends only on the operation. To declare them makes the search faster.
        refusable: functions whose failure without an error is an answer (`REFUSED`), which
            changes no state. A failure of other functions only says that they took no effect.
        columns: further columns of the table that a step needs: ``process``, or the name of a
            field (`checker.deciders.operation_table.FIELDS`). If there are any, the argument of
            all methods is a tuple of their values and, last, the call's argument.
    """

    name: str = "model"
    functions: frozenset[str] = frozenset()
    initial: Hashable = None
    observers: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()
    refusable: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()

    def __init__(self, initial: Hashable = None) -> None:
        if initial is not None:
            self.initial = initial

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:
        """The state after the operation, or `ILLEGAL`.

        Args:
            state: any state that a step returned, or ``initial``.
            f: one of ``functions``.
            argument: what it was called with, frozen (`checker.deciders.typed_values`): to be
                compared with ``==``; a boolean is never ``is True``.
            result: its result, frozen; `REFUSED` if it was refused; `UNKNOWN` if the outcome is
                unknown (the step is then its effect if it takes effect).
        """
        raise NotImplementedError

    def partition(self, f: str, argument: Hashable, result: Hashable) -> Hashable:  # noqa: ARG002 - for subclasses
        """The independent part of the object that an operation uses, if there are several."""
        return None

    def arguments(self, table: OperationTable) -> Values:
        """The arguments of the steps of a table's rows (``columns``)."""
        if not self.columns:
            return table.argument
        parts = [
            table.process.tolist() if name == "process" else table.field(name)
            for name in self.columns
        ]
        return Values.of(zip(*parts, table.argument, strict=True))

    def describe(self, f: str, argument: Hashable, result: Hashable) -> str:
        """An operation in words: ``write(3)``, ``read() -> 3``.

        A result that repeats the argument, as in Jepsen's histories, is left out.
        """
        if self.columns and isinstance(argument, tuple):
            argument = argument[-1]
        call = f"{f}({'' if argument is None else repr(argument)})"
        if result is UNKNOWN:
            return f"{call} -> ?"
        if result is REFUSED:
            return f"{call} -> refused"
        if type(result) is type(argument) and result == argument:
            result = None
        return call if result is None and f not in self.observers else f"{call} -> {result!r}"

    def describe_state(self, state: Hashable) -> str:
        """A state in words."""
        return repr(state)
