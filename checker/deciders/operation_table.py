"""The clients' operations as a table of columns: the input of all deciders.

A decider of a model needs only the calls, the returns and the values of a history
(`checker.history`), for millions of operations at once. So an `OperationTable` has one row for
each operation, in order of call, and one numpy column for each property.

Times are in nanoseconds (or positions in a file that has no times). **Ties are concurrent**: an
operation that returns at the time at which another is called does not precede it. What one process
does is in order even so: `checker.deciders.program_order` makes that visible in the times. An
operation of unknown outcome returns at `NEVER`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.ended_sessions import SessionRecords
from rumpus.checker.deciders.values import MISSING, Flags, Ints, Values, WrongOperations

NEVER = 2**63 - 1
"""When an operation of unknown outcome returns."""

OK, FAIL, INFO = 0, 1, 2
"""Outcomes: the operation took effect; it did not; unknown."""

FIELDS = frozenset(
    {
        "key",
        "value",
        "session",
        "token",
        "epoch",
        "node",
        "version",
        "zxid",
        "priority",
        "permits",
        "timeout",
        "until",
        "sequencer",
    }
)
"""A record's value that is an object with only these keys becomes a column for each key."""


WITHOUT_VALUE = "without value"
"""The column that tells of a row that one of its values was an object of `FIELDS`, and not only of
``key`` and ``session``, without a ``value``: there it is null, which a model may take for one."""


def other_key(index: int, asked: object, told: object) -> ValueError:
    """The error for a completion that names another key than its call."""
    return ValueError(
        f"record {index} completes an operation on key {told!r} that was called on key {asked!r}"
    )


@dataclass(frozen=True, eq=False)
class OperationTable:
    """Operations of clients, one in each row, ordered by call (ties in order of the records).

    All columns have the same length, the number of operations.

    Attributes:
        functions: the distinct names of operations.
        f: the operation's position in ``functions``.
        outcome: `OK`, `FAIL` or `INFO`.
        process: the calling process.
        call: time of the call.
        returned: time of the return; `NEVER` for `INFO`.
        argument: the value of the call (the field ``value`` of an object with `FIELDS`).
        result: the value of the completion; None unless the outcome is `OK`.
        fields: the other fields of values that are objects; those of a completion replace
            those of its call. ``key`` names the object that was operated on, ``session`` the
            session that a grant belongs to.
        refused: whether the operation failed without an error: the system answered no.
        index: index of the record of the call; verdicts name operations by it.
        completion: index of the record of the completion; -1 if there is none.
        start: time of the first call of the history, to which printed times are relative; a
            table of some rows (`take`) keeps that of the whole history.
        ticks: ascending times; each is a nanosecond that was put in
            (`checker.deciders.program_order`) and is no part of the clock.
        told: what the history's records say of sessions besides the operations.
    """

    functions: tuple[str, ...]
    f: NDArray[np.int16]
    outcome: NDArray[np.int8]
    process: Ints
    call: Ints
    returned: Ints
    argument: Values
    result: Values
    fields: Mapping[str, Values] = field(default_factory=dict)
    refused: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    index: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    completion: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    start: int = MISSING
    ticks: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    told: SessionRecords = field(default_factory=SessionRecords)

    def __post_init__(self) -> None:
        size = len(self.f)
        if not len(self.refused):
            object.__setattr__(self, "refused", np.zeros(size, dtype=np.bool_))
        if not len(self.index):
            object.__setattr__(self, "index", np.arange(size, dtype=np.int64))
        if not len(self.completion):
            object.__setattr__(self, "completion", np.full(size, -1, dtype=np.int64))
        if self.start == MISSING:
            object.__setattr__(self, "start", int(self.call[0]) if size else 0)

    def __len__(self) -> int:
        return len(self.f)

    def take(self, rows: Any) -> "OperationTable":
        """The table of some rows: positions in ascending order, or a mask."""
        return OperationTable(
            functions=self.functions,
            f=self.f[rows],
            outcome=self.outcome[rows],
            process=self.process[rows],
            call=self.call[rows],
            returned=self.returned[rows],
            argument=self.argument[rows],
            result=self.result[rows],
            fields={name: column[rows] for name, column in self.fields.items()},
            refused=self.refused[rows],
            index=self.index[rows],
            completion=self.completion[rows],
            start=self.start,
            ticks=self.ticks,
            told=self.told,
        )

    def only(self, *names: str) -> "OperationTable":
        """The rows of the named functions; ``functions`` lists no others."""
        part = self.take(np.flatnonzero(self.is_f(*names)))
        functions = tuple(name for name in self.functions if name in names)
        numbers = np.array(
            [functions.index(name) if name in functions else 0 for name in self.functions],
            dtype=np.int16,
        )
        return replace(part, functions=functions, f=numbers[part.f])

    def is_f(self, *names: str) -> Flags:
        """Mask of the rows whose function is one of those named."""
        wanted = [at for at, name in enumerate(self.functions) if name in names]
        found: Flags = self.f == wanted[0] if len(wanted) == 1 else np.isin(self.f, wanted)
        return found

    def clock(self, time: int) -> int:
        """What the clock showed at a time of the table: without the ticks until then."""
        return time - int(np.searchsorted(self.ticks, time, side="right"))

    def field(self, name: str) -> Values:
        """A field's column; all `MISSING` if no value has the field."""
        found = self.fields.get(name)
        return found or Values(np.full(len(self), MISSING, dtype=np.int64))

    def function(self, row: int) -> str:
        """The name of a row's operation."""
        return self.functions[int(self.f[row])]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "OperationTable":
        """A table from one mapping for each row, from names of columns or fields to values.

        ``f`` and ``call`` are required. The default of ``outcome`` is `OK`, of ``process`` the
        row's number, of ``returned`` the call's time (`NEVER` for `INFO`).
        """
        rows = sorted(rows, key=lambda row: row["call"])
        functions = list(dict.fromkeys(row["f"] for row in rows))
        number = {name: at for at, name in enumerate(functions)}
        outcome = [row.get("outcome", OK) for row in rows]

        def ints(name: str, otherwise: Iterable[int]) -> Ints:
            found = (row.get(name, other) for row, other in zip(rows, otherwise, strict=True))
            return np.fromiter(found, dtype=np.int64, count=len(rows))

        never = [NEVER if o == INFO else row["call"] for o, row in zip(outcome, rows, strict=True)]
        names = dict.fromkeys(name for row in rows for name in row if name in FIELDS - {"value"})
        return cls(
            functions=tuple(functions),
            f=np.array([number[row["f"]] for row in rows], dtype=np.int16),
            outcome=np.array(outcome, dtype=np.int8),
            process=ints("process", range(len(rows))),
            call=ints("call", never),
            returned=ints("returned", never),
            argument=Values.of(row.get("argument") for row in rows),
            result=Values.of(row.get("result") for row in rows),
            fields={name: Values.of(row.get(name) for row in rows) for name in names},
            refused=np.array([row.get("refused", False) for row in rows], dtype=np.bool_),
            index=ints("index", range(len(rows))),
            completion=ints("completion", (-1 for _ in rows)),
        )


def check_names(table: OperationTable) -> None:
    """Check that all keys have one type, and all sessions.

    Keys or sessions of several types, such as 1 and "1", are a mistake of the recorder: each key
    would be decided as an object of its own. So would operations without a key, where others of
    the same function have one.

    Raises:
        WrongOperations: a key or session has another type or is missing; the message names the
            record.
    """
    for name in ("key", "session"):
        values = table.field(name)
        if values.objects is None or len({*map(type, values.objects)}) < 2:
            continue
        rows = np.flatnonzero(values.present).tolist()
        usual = values[rows[0]]
        odd = next((row for row in rows if type(values[row]) is not type(usual)), None)
        if odd is not None:
            raise WrongOperations(
                f"record {table.index[odd]}: its {name} {values[odd]!r} is of another type than "
                f"the {name} {usual!r} of earlier records"
            )
    has_key = table.field("key").present
    answered = table.outcome == OK
    for number, function in enumerate(table.functions):
        of_function = answered & (table.f == number)
        without = np.flatnonzero(of_function & ~has_key)
        if len(without) and bool((of_function & has_key).any()):
            raise WrongOperations(
                f"record {table.index[without[0]]}: {function} has no key, and others have one"
            )
