"""Operations as columns: what the deciders work on.

A history of records (`checker.history`) is for people and for the three timelines; a decider
of a model needs only the calls, the returns and the values, for a million operations at once.
So an `OperationTable` holds one row an operation, ordered by call, one numpy column a property.

Times are nanoseconds (or positions in a file that has no times). **Ties are concurrent**: an
operation that returns at the moment another is called is not before it. An operation of unknown
outcome returns at `NEVER`.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

NEVER = 2**63 - 1
"""When an operation of unknown outcome returns."""

MISSING = -(2**63)
"""Stands in a column of numbers where there is no value."""

OK, FAIL, INFO = 0, 1, 2
"""Outcomes: it happened; it did not happen; nobody knows."""

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
"""A record's value that is an object of some of these is taken apart, a column a field."""

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Values(Sequence[Any]):
    """A column of values: integers as they are, anything else by number.

    Args:
        numbers: the integers themselves, or positions in ``objects``; `MISSING` for None.
        objects: the distinct values, frozen (`freeze`); None when the numbers are the values.
    """

    __slots__ = ("numbers", "objects")

    def __init__(self, numbers: Ints, objects: Sequence[Hashable] | None = None) -> None:
        self.numbers = numbers
        self.objects = objects

    @classmethod
    def of(cls, values: Iterable[Any]) -> "Values":
        """A column of any values; numbers stay numbers where all of them are integers."""
        builder = ValuesBuilder()
        builder.extend(list(values))
        return builder.build()

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> Any:
        if not isinstance(row, (int, np.integer)):
            return Values(self.numbers[row], self.objects)
        number = int(self.numbers[row])
        if number == MISSING:
            return None
        return number if self.objects is None else self.objects[number]

    def tolist(self) -> list[Any]:
        """The values themselves, None where there is none."""
        objects = self.objects
        if objects is None:
            return [None if number == MISSING else number for number in self.numbers.tolist()]
        return [None if number == MISSING else objects[number] for number in self.numbers.tolist()]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where there is a value."""
        present: NDArray[np.bool_] = self.numbers != MISSING
        return present

    def ints(self, what: str) -> Ints:
        """The numbers, `MISSING` where there is none.

        Raises:
            WrongOperations: some value is no integer, or too large; ``what`` names the column.
        """
        if self.objects is not None:
            for value in self.objects:
                if type(value) is not int:
                    raise WrongOperations(f"{what} must be integers, and {value!r} is not")
            large = max(self.objects, key=lambda value: abs(cast("int", value)))
            raise WrongOperations(f"{what} must have 63 bits at most, and {large!r} has not")
        return self.numbers


class ValuesBuilder:
    """Makes a column from pieces, keeping of equal values one only.

    Values are equal if they are and have the same type: 1, 1.0 and true are three values.
    """

    def __init__(self) -> None:
        self._pieces: list[Ints] = []
        self._objects: list[Hashable] | None = None
        self._known: dict[type, dict[Hashable, int]] = {}

    def extend(self, values: Sequence[Any]) -> None:
        """Append values.

        Raises:
            WrongOperations: one is nested too deeply, or too large (`freeze`).
        """
        types = set(map(type, values))
        numbers = self._plain(values, types) if types <= _PLAIN else None
        if numbers is None:
            if self._objects is None:
                self._number_what_is_there()
            numbers = self._numbered(values, types)
        self._pieces.append(numbers)

    def build(self) -> Values:
        """The column."""
        whole = np.concatenate(self._pieces) if self._pieces else np.zeros(0, dtype=np.int64)
        return Values(whole, self._objects)

    def _plain(self, values: Sequence[Any], types: set[type]) -> Ints | None:
        """Values as they are; None if they cannot stand in a column of numbers."""
        if self._objects is not None:
            return None
        absent = 0
        if type(None) in types:
            if len(types) == 1:
                return np.full(len(values), MISSING, dtype=np.int64)
            absent = values.count(None)
            values = [MISSING if v is None else v for v in values]
        try:
            numbers = np.array(values, dtype=np.int64)
        except OverflowError:
            return None
        # The least of all integers is taken: it stands for "no value".
        return numbers if np.count_nonzero(numbers == MISSING) == absent else None

    def _number_what_is_there(self) -> None:
        self._objects = []
        for at, piece in enumerate(self._pieces):
            values = [None if v == MISSING else v for v in piece.tolist()]
            self._pieces[at] = self._numbered(values, set(map(type, values)))

    def _numbered(self, values: Sequence[Any], types: set[type]) -> Ints:
        nulls = type(None) in types
        one = types - {type(None)}
        if len(one) == 1 and one <= _HASHABLE:
            if int in one:
                for value in values:
                    _refuse_large(value)
            numbers = self._numbers_of(next(iter(one)))
            assert self._objects is not None
            new = [v for v in dict.fromkeys(values) if v is not None and v not in numbers]
            numbers.update(zip(new, range(len(self._objects), 1 << 62), strict=False))
            self._objects.extend(new)
            find = numbers.get if nulls else numbers.__getitem__
            found = map(find, values)
            return np.fromiter(
                (MISSING if v is None else v for v in found) if nulls else found,
                dtype=np.int64,
                count=len(values),
            )
        return np.fromiter(map(self._number, values), dtype=np.int64, count=len(values))

    def _number(self, value: Any) -> int:
        if value is None:
            return MISSING
        assert self._objects is not None
        frozen = freeze(value)
        at = self._numbers_of(type(frozen)).setdefault(frozen, len(self._objects))
        if at == len(self._objects):
            self._objects.append(frozen)
        return at

    def _numbers_of(self, kind: type) -> dict[Hashable, int]:
        return self._known.setdefault(kind, {})


_PLAIN = {int, type(None)}
_HASHABLE = {int, str, float, bool}


class WrongOperations(ValueError):  # noqa: N818 - reads as the state it names
    """A history has operations or values that the model does not know."""


def other_key(index: int, asked: object, told: object) -> ValueError:
    """What to raise where a completion names another key than its call."""
    return ValueError(
        f"record {index} completes an operation on key {told!r} that was called on key {asked!r}"
    )


def _refuse_large(value: Any) -> None:
    """Refuse an integer of more than 64 bits.

    Any number of these can have one hash, which is the number modulo 2^61 - 1, and finding equal
    ones takes quadratic time then.
    """
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise WrongOperations(f"a value is an integer of more than {MAX_BITS} bits")


MAX_BITS = 64
"""How large an integer may be."""

MAX_DEPTH = 64
"""How deeply lists, objects and sets may be nested in a value."""


def freeze(value: Any, depth: int = MAX_DEPTH) -> Hashable:
    """A hashable stand-in: lists become tuples, objects tuples of sorted items, sets frozen.

    Raises:
        WrongOperations: it is nested more deeply than ``depth``, or has an integer of more than 64
            bits.
    """
    if not isinstance(value, (dict, list, tuple, set, frozenset)):
        _refuse_large(value)
        hashable: Hashable = value
        return hashable
    if not depth:
        raise WrongOperations(f"a value is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        items = ((freeze(k, depth - 1), freeze(v, depth - 1)) for k, v in value.items())
        return tuple(sorted(items, key=repr))
    frozen = (freeze(each, depth - 1) for each in value)
    return frozenset(frozen) if isinstance(value, (set, frozenset)) else tuple(frozen)


@dataclass(frozen=True, eq=False)
class OperationTable:
    """Operations of clients, one a row, ordered by call (ties in the order of the records).

    Attributes:
        functions: the distinct names of operations.
        f: position in ``functions``, a row.
        outcome: `OK`, `FAIL` or `INFO`, a row.
        process: who called, a row.
        call: when it was called, a row.
        returned: when it returned, a row; `NEVER` for `INFO`.
        argument: what it was called with (the field ``value`` of an object with `FIELDS`).
        result: what came back; None unless the outcome is `OK`.
        fields: the other fields of values that are objects; those of a completion win over
            those of its call. ``key`` names the object that was worked on, ``session`` the
            session that a grant belongs to.
        refused: rows that failed without an error: the system looked and said no.
        index: index of the record of the call, a row: the name by which verdicts speak of it.
        completion: index of the record of its completion, a row; -1 if there is none.
        start: when the first operation of the history was called, for times in words; a table
            of some rows (`take`) keeps that of the whole.
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
    refused: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    index: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    completion: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    start: int = MISSING

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
        """The table of some rows: positions in growing order, or a mask."""
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
        )

    def only(self, *names: str) -> "OperationTable":
        """The rows that call one of the named functions, as if nobody had called another."""
        part = self.take(np.flatnonzero(self.is_f(*names)))
        functions = tuple(name for name in self.functions if name in names)
        numbers = np.array(
            [functions.index(name) if name in functions else 0 for name in self.functions],
            dtype=np.int16,
        )
        return replace(part, functions=functions, f=numbers[part.f])

    def is_f(self, *names: str) -> NDArray[np.bool_]:
        """Which rows call one of the named functions."""
        wanted = [at for at, name in enumerate(self.functions) if name in names]
        found: NDArray[np.bool_] = (
            self.f == wanted[0] if len(wanted) == 1 else np.isin(self.f, wanted)
        )
        return found

    def field(self, name: str) -> Values:
        """A field's column; nothing but `MISSING` where no value has the field."""
        found = self.fields.get(name)
        return found or Values(np.full(len(self), MISSING, dtype=np.int64))

    def function(self, row: int) -> str:
        """What a row calls."""
        return self.functions[int(self.f[row])]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "OperationTable":
        """A table from one mapping a row, with the names of the columns or of fields.

        ``f`` and ``call`` must be there; ``outcome`` is `OK`, ``process`` the row's number and
        ``returned`` the call's time unless given (`NEVER` for `INFO`).
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
    """See that operations name keys and sessions alike.

    Keys or sessions of several types, 1 and "1", are a slip of whoever recorded them, and each
    key would be judged as an object of its own; so would operations that lost their key.

    Raises:
        WrongOperations: they do not; the message names the record.
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
