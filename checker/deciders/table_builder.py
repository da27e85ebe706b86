"""Build the table of operations from the records of a history of millions of records.

The records come in batches, in the order of a file, or as a whole history. Columns are built a
batch at a time, and calls are paired with completions by sorting. A completion that names another
function or key than its call is refused.

Pairing: sort the records by time (ties in order of arrival), then stably by process. Now the
records of each process are adjacent. They are well formed if and only if each completion directly
follows a call, which is the call that it completes. Cost: two stable sorts; the records of a run
are nearly sorted by time already.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.ended_sessions import SessionRecords
from rumpus.checker.deciders.operation_table import (
    FAIL,
    FIELDS,
    INFO,
    NEVER,
    OK,
    WITHOUT_VALUE,
    OperationTable,
    other_key,
)
from rumpus.checker.deciders.values import MISSING, Ints, Values, ValuesBuilder, WrongOperations
from rumpus.checker.history import History, Op

MAX_FUNCTIONS = 1000
"""The most functions that a history may have."""

_INVOKE = 3
_TYPES = {"invoke": _INVOKE, "ok": OK, "fail": FAIL, "info": INFO}
_MAX_TIME, _MAX_PROCESS = 1 << 62, 1 << 53


def table_of(history: History) -> OperationTable:
    """The clients' operations of a history.

    Raises:
        ValueError: calls and completions do not pair.
        WrongOperations: see `TableBuilder.add`.
    """
    builder = TableBuilder()
    builder.add(history)
    return builder.build()


_OF_OBJECTS = frozenset({"key", "session"})
"""What says of which object, or of whom, an operation is, and is no part of a value."""


class TableBuilder:
    """Builds the table of the clients' operations from batches of records."""

    def __init__(self) -> None:
        self._count = 0
        self._functions: dict[str, int] = {}
        self._columns: dict[str, _Column] = {"argument": _Column(), "result": _Column()}
        self._times: list[Ints] = []
        self._processes: list[Ints] = []
        self._indices: list[Ints] = []
        self._types: list[NDArray[np.int8]] = []
        self._fs: list[NDArray[np.int16]] = []
        self._errors: list[NDArray[np.bool_]] = []
        self._sessions = SessionRecords()

    def add(self, records: Sequence[Op]) -> None:
        """Add the next records; of those that are no client's only those of sessions count.

        Raises:
            WrongOperations: there are too many functions, or a time, a process number or a value
                of a record is out of range; the message names it.
        """
        ops = [op for op in records if type(op.process) is int]
        if len(ops) < len(records):
            self._sessions.add(records)
        types = np.array([_TYPES[op.type] for op in ops], dtype=np.int8)
        self._types.append(types)
        self._times.append(_bounded(ops, "time", -_MAX_TIME, _MAX_TIME))
        self._processes.append(_bounded(ops, "process", 0, _MAX_PROCESS))
        self._indices.append(_bounded(ops, "index", 0, _MAX_TIME))
        names = [op.f for op in ops]
        number = self._functions
        for name in dict.fromkeys(names):
            number.setdefault(name, len(number))
        if len(number) > MAX_FUNCTIONS:
            raise WrongOperations(f"there are more than {MAX_FUNCTIONS} different operations")
        self._fs.append(np.array([number[name] for name in names], dtype=np.int16))
        errors = np.zeros(len(ops), dtype=np.bool_)
        for at in np.flatnonzero(types == FAIL).tolist():
            errors[at] = bool(ops[at].error)
        self._errors.append(errors)
        for name, kind in (("argument", _INVOKE), ("result", OK)):
            chosen = np.flatnonzero(types == kind)
            values = [ops[at].value for at in chosen.tolist()]
            self._take_values(name, values, chosen + self._count)
        self._count += len(ops)

    def _take_values(self, name: str, values: list[Any], records: Ints) -> None:
        """Add values to the column ``name``; objects go to the columns of their `FIELDS`."""
        if dict in set(map(type, values)):
            # Objects with the same keys are split together, a column at a time.
            forms = [tuple(value) if type(value) is dict else None for value in values]
            number = {form: at for at, form in enumerate(dict.fromkeys(forms))}
            numbers = np.array([number[form] for form in forms])
            by_form = np.argsort(numbers, kind="stable")
            ends = np.cumsum(np.bincount(numbers))
            for form, places in zip(number, np.split(by_form, ends[:-1]), strict=True):
                of_form = [values[at] for at in places.tolist()]
                if not form or not FIELDS.issuperset(form):
                    self._columns[name].add(records[places], of_form)
                    continue
                if "value" not in form and not _OF_OBJECTS.issuperset(form):
                    told = self._columns.setdefault(WITHOUT_VALUE, _Column())
                    told.add(records[places], [True] * len(places))
                parts = zip(*map(dict.values, of_form), strict=True)
                for part, column in zip(form, parts, strict=True):
                    known = self._columns.setdefault(name if part == "value" else part, _Column())
                    known.add(records[places], column)
            return
        self._columns[name].add(records, values)

    def build(self) -> OperationTable:
        """The table.

        Raises:
            ValueError: a process has two operations open, or a completion has no call or names
                another function than its call; the message names the record.
        """
        if not self._count:
            return OperationTable.from_rows([])
        time, index = np.concatenate(self._times), np.concatenate(self._indices)
        process, kind = np.concatenate(self._processes), np.concatenate(self._types)
        f, error = np.concatenate(self._fs), np.concatenate(self._errors)
        # Records in order of time, then grouped by process.
        by_time = _stable_order(time)
        beside = by_time[_stable_order(_small(process[by_time]))]
        completes = kind[beside] != _INVOKE
        same = np.zeros(self._count, dtype=np.bool_)
        np.equal(process[beside][1:], process[beside][:-1], out=same[1:])
        after_call = np.zeros(self._count, dtype=np.bool_)
        after_call[1:] = same[1:] & ~completes[:-1]
        other_f = np.zeros(self._count, dtype=np.bool_)
        np.not_equal(f[beside][1:], f[beside][:-1], out=other_f[1:])
        wrong = np.flatnonzero((completes != after_call) | (completes & other_f))
        if len(wrong):
            place = np.empty(self._count, dtype=np.int64)
            place[by_time] = np.arange(self._count)
            first = wrong[np.argmin(place[beside[wrong]])]
            names = list(self._functions)
            record, other = beside[first], beside[first - 1]
            who = f"record {index[record]}: process {process[record]}"
            if not completes[first]:
                raise ValueError(
                    f"{who} calls {names[f[record]]} while its {names[f[other]]} is still open"
                )
            if after_call[first]:
                raise ValueError(
                    f"{who} completes {names[f[record]]} while its {names[f[other]]} is open"
                )
            raise ValueError(f"{who} completes {names[f[record]]} without having called it")
        calls = by_time[kind[by_time] == _INVOKE]
        row_of = np.full(self._count, -1, dtype=np.int64)
        row_of[calls] = np.arange(len(calls))
        completed = np.flatnonzero(completes)
        row_of[beside[completed]] = row_of[beside[completed - 1]]
        completion = np.full(len(calls), -1, dtype=np.int64)
        completion[row_of[beside[completed]]] = beside[completed]
        if key := self._columns.get("key"):
            key.refuse_contradictions(len(calls), row_of, kind, index)

        has = completion >= 0
        outcome = np.where(has, kind[completion], np.int8(INFO))
        known = outcome != INFO
        functions, f_of_rows = self._functions_in_order(f[calls])
        columns = {
            name: column.lay_out(len(calls), row_of, kind)
            for name, column in self._columns.items()
            if name in ("argument", "result") or column.used
        }
        return OperationTable(
            functions=functions,
            f=f_of_rows,
            outcome=outcome,
            process=process[calls],
            call=time[calls],
            returned=np.where(known, time[completion], NEVER),
            argument=columns.pop("argument"),
            result=columns.pop("result"),
            fields=columns,
            refused=(outcome == FAIL) & ~error[completion],
            index=index[calls],
            completion=np.where(has, index[completion], -1),
            told=self._sessions,
        )

    def _functions_in_order(
        self, f: NDArray[np.int16]
    ) -> tuple[tuple[str, ...], NDArray[np.int16]]:
        """The functions in order of first call, and the number of each row's function."""
        used, first = np.unique(f, return_index=True)
        used = used[np.argsort(first)]
        renumbered = np.zeros(len(self._functions), dtype=np.int16)
        renumbered[used] = np.arange(len(used))
        names = list(self._functions)
        return tuple(names[number] for number in used.tolist()), renumbered[f]


class _Column:
    """Values of some records, collected in batches."""

    def __init__(self) -> None:
        self._records: list[Ints] = [np.zeros(0, dtype=np.int64)]
        self._values = ValuesBuilder()
        self.used = False

    def add(self, records: Ints, values: Sequence[Any]) -> None:
        self.used = self.used or bool(values)
        self._records.append(records)
        self._values.extend(values)

    def refuse_contradictions(
        self, size: int, row_of: Ints, kind: NDArray[np.int8], index: Ints
    ) -> None:
        """Refuse a completion that has another value than its call.

        Raises:
            ValueError: the values of a call and its completion differ; the message names the
                record.
        """
        values = self._values.build()
        records = np.concatenate(self._records)
        there = values.numbers != MISSING
        sides = []
        for chosen in (there & (kind[records] == _INVOKE), there & (kind[records] != _INVOKE)):
            numbers = np.full(size, MISSING, dtype=np.int64)
            numbers[row_of[records[chosen]]] = values.numbers[chosen]
            sides.append(numbers)
        called, told = sides
        wrong = np.flatnonzero((called != MISSING) & (told != MISSING) & (called != told))
        if len(wrong):
            row = int(wrong[0])
            record = next(r for r in records.tolist() if row_of[r] == row and kind[r] != _INVOKE)
            asked, answered = Values(np.array([called[row], told[row]]), values.objects)
            raise other_key(int(index[record]), asked, answered)

    def lay_out(self, size: int, row_of: Ints, kind: NDArray[np.int8]) -> Values:
        """The values by row; the value of a completion replaces that of its call."""
        values = self._values.build()
        records = np.concatenate(self._records)
        numbers = np.full(size, MISSING, dtype=np.int64)
        of_calls = kind[records] == _INVOKE
        for chosen in (of_calls, ~of_calls):
            numbers[row_of[records[chosen]]] = values.numbers[chosen]
        return Values(numbers, values.objects)


def _bounded(ops: Sequence[Op], name: str, least: int, below: int) -> Ints:
    """An attribute of the records as integers, checked to be in ``[least, below)``."""
    found = list(map(attrgetter(name), ops))
    try:
        numbers = np.array(found, dtype=np.int64)
    except OverflowError:
        numbers = None
    if numbers is None or (len(ops) and not least <= numbers.min() <= numbers.max() < below):
        op, number = next(
            (op, n) for op, n in zip(ops, found, strict=True) if not least <= n < below
        )
        size = "too small" if number < least else "too large"
        raise WrongOperations(f"record {op.index} ({op.process} {op.f}): its {name} is {size}")
    return numbers


def _small(numbers: Ints) -> NDArray[Any]:
    """Small numbers as 16 bits, which numpy sorts in linear time (radix sort)."""
    return numbers.astype(np.uint16) if numbers.max() < 1 << 16 else numbers


def _stable_order(numbers: NDArray[Any]) -> Ints:
    if bool(np.all(numbers[1:] >= numbers[:-1])):
        return np.arange(len(numbers))
    return np.argsort(numbers, kind="stable")
