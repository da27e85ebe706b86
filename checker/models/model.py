"""A model: what an object answers when operations are applied to it one at a time.

Write one as a small class::

    class Register(Model):
        name = "register"
        functions = frozenset({"read", "write"})
        observers = frozenset({"read"})

        def step(self, state, f, argument, result):
            if f == "write":
                return argument
            return state if result in (state, UNKNOWN) else ILLEGAL

A history is linearizable with regard to it when its operations can be put in one order that
respects the order of those that did not overlap, in which every step is legal (Herlihy and
Wing, Linearizability: a correctness condition for concurrent objects, TOPLAS 1990).
"""

from collections.abc import Hashable
from enum import Enum
from typing import Final

from rumpus.checker.deciders.operation_table import OperationTable, Values


class Mark(Enum):
    """Values that no history contains."""

    ILLEGAL = "illegal"
    UNKNOWN = "unknown"
    REFUSED = "refused"


ILLEGAL: Final = Mark.ILLEGAL
"""What `Model.step` returns when the operation cannot have answered that in that state."""

UNKNOWN: Final = Mark.UNKNOWN
"""The result of an operation of unknown outcome that did take effect."""

REFUSED: Final = Mark.REFUSED
"""The result of an operation to which the system said no (a cas that found another value)."""


class Model:
    """A sequential object. Subclass it; all methods are pure.

    Attributes:
        name: for messages.
        functions: the operations that it knows.
        initial: the first state; an argument of the constructor replaces it.
        observers: functions that change no state, whatever the state: in every one they are
            either legal and leave it, or illegal.
        blind: functions that overwrite everything: legal in every state, and the state after
            them depends only on the operation. It makes the search faster.
        refusable: functions whose failure without an error is an answer (`REFUSED`), which
            changes no state; of all others a failure only says that nothing happened.
        columns: further columns of the table that a step needs: ``process`` where it matters
            who calls, or the name of a field (`checker.deciders.operation_table.FIELDS`). If there
            are any, the argument of all methods is the tuple of them, then the call's argument.
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
            argument: what it was called with.
            result: what it answered; `UNKNOWN` if nobody knows (then the step is what it does
                when it takes effect; it may also never do so), `REFUSED` if it was refused.
        """
        raise NotImplementedError

    def partition(self, f: str, argument: Hashable, result: Hashable) -> Hashable:  # noqa: ARG002 - for subclasses
        """The part of the object that an operation touches, if parts are independent."""
        return None

    def arguments(self, table: OperationTable) -> Values:
        """What the steps of a table's rows are called with (``columns``)."""
        if not self.columns:
            return table.argument
        parts = [
            table.process.tolist() if name == "process" else table.field(name)
            for name in self.columns
        ]
        return Values.of(zip(*parts, table.argument, strict=True))

    def describe(self, f: str, argument: Hashable, result: Hashable) -> str:
        """An operation in words: ``write(3)``, ``read() -> 3``.

        Completions that only repeat the argument, as Jepsen's do, say nothing more.
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
