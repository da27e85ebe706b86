"""The results of the operations of one versioned register, as columns.

Versions are counted from the initial one, which is 0. Zxids are replaced by their ranks: only
their order matters, since writes of other znodes come in between.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.operation_table import FAIL, INFO, OK, OperationTable
from rumpus.checker.deciders.registers.value_numbers import one_numbering
from rumpus.checker.deciders.values import MISSING, Ints, Values, WrongOperations, freeze
from rumpus.checker.deciders.wording import who

VERSION, ZXID = "version", "zxid"


class Beginning(NamedTuple):
    """The initial value and version.

    Attributes:
        number: the version or zxid; None if unknown.
        value: the value.
        known: whether the value is known; if not, the first read determines it.
    """

    number: int | None
    value: Hashable = None
    known: bool = False

    @classmethod
    def of(cls, initial: Hashable, kind: str) -> "Beginning":
        """From ``--initial``: a value, or an object of ``value`` and ``kind``."""
        frozen = freeze(initial)
        if isinstance(frozen, tuple) and all(
            isinstance(item, tuple) and len(item) == 2 for item in frozen
        ):
            parts = dict(frozen)
            number = parts.get(kind)
            if type(number) is int and parts.keys() <= {"value", kind}:
                return cls(number, parts.get("value"), known="value" in parts)
        return cls(0 if kind == VERSION else None, frozen, known=initial is not None)


@dataclass(frozen=True)
class Answers:
    """Columns of the operations that matter. Rows are rows of ``table``.

    Attributes:
        table: the operations.
        kind: `VERSION` or `ZXID`.
        beginning: the initial value and version.
        number: the version or zxid of each row of the table, as recorded.
        writes: rows of acknowledged writes and cas.
        reads: rows of acknowledged reads.
        lost: rows of writes and cas of unknown outcome.
        refused: rows of refused cas.
        written: the value of each write, numbered with all other values from 0.
        read: the value of each read.
        lost_value: the value of each lost write.
        first: the value of the beginning.
        values: an upper bound of the values' numbers (exclusive).
        expected: the version that each row of the table expects, as recorded; `MISSING` for all
            but cas.
        comparing: whether there is any cas.
    """

    table: OperationTable
    kind: str
    beginning: Beginning
    number: Ints
    writes: Ints
    reads: Ints
    lost: Ints
    refused: Ints
    written: Ints
    read: Ints
    lost_value: Ints
    first: int
    values: int
    expected: Ints
    comparing: bool

    def told(self, table: OperationTable, row: int) -> str:
        """An operation in words: ``read() -> 'x', version 5, of process 3``."""
        argument = table.argument[row]
        call = f"{table.function(row)}({'' if argument is None else repr(argument)})"
        caller = who(table, row)
        if table.outcome[row] == FAIL:
            return f"{call} of {caller}, which was refused,"
        number = f"{self.kind} {int(self.number[row])}"
        if table.function(row) == "read":
            return f"{call} -> {table.result[row]!r}, {number}, of {caller}"
        return f"{call} -> {number} of {caller}"

    def counted(self) -> tuple[Ints, Ints]:
        """The versions of the writes and of the reads, counted from the beginning."""
        of_writes, of_reads = self.number[self.writes], self.number[self.reads]
        start = self.beginning.number
        if self.kind == VERSION:
            assert start is not None
            return of_writes - start, of_reads - start
        known = np.array([] if start is None else [start], dtype=np.int64)
        names, places = np.unique(np.concatenate((of_writes, of_reads, known)), return_inverse=True)
        if start is None and not self._begins_with(names[:1]):
            places = places + 1
        ranks = places[: len(of_writes) + len(of_reads)]
        return ranks[: len(of_writes)], ranks[len(of_writes) :]

    def _begins_with(self, lowest: Ints) -> bool:
        """Whether the lowest zxid can be that of the initial value.

        If it can it is taken to be: then it needs no write and bounds no call.
        """
        read = self.read[np.isin(self.number[self.reads], lowest)]
        return bool(
            len(read)
            and not np.isin(self.number[self.writes], lowest).any()
            and (not self.beginning.known or read[0] == self.first)
        )


def answers_of(table: OperationTable, beginning: Beginning, kind: str) -> Answers:
    """The columns of a table.

    Raises:
        WrongOperations: as `checker.deciders.registers.versioned_register.decide_versions`.
    """
    writing, compares = table.is_f("write", "cas"), table.is_f("cas")
    happened, unknown = table.outcome == OK, table.outcome == INFO
    reads = np.flatnonzero(table.is_f("read") & happened)
    writes = np.flatnonzero(writing & happened)
    lost = np.flatnonzero(writing & unknown)
    comparing = bool((compares & (happened | unknown | table.refused)).any())
    if comparing and kind == ZXID:
        raise WrongOperations("versioned-register: a cas needs answers with versions, not zxids")
    number = table.field(kind).ints(f"the {kind}s of a versioned-register")
    for rows in (writes, reads):
        missing = rows[number[rows] == MISSING]
        if len(missing):
            row = int(missing[0])
            raise WrongOperations(
                f"versioned-register: the answer to {table.function(row)} of {who(table, row)} "
                f"(record {int(table.index[row])}) has no {VERSION} or {ZXID}"
            )
    expected = np.full(len(table), MISSING)
    arguments = _compared(table, expected) if comparing else table.argument
    (written, lost_value, read, first), values = one_numbering(
        (arguments[writes], arguments[lost], table.result[reads], Values.of([beginning.value]))
    )
    return Answers(
        table=table,
        kind=kind,
        beginning=beginning,
        number=number,
        writes=writes,
        reads=reads,
        lost=lost,
        refused=np.flatnonzero(compares & (table.outcome == FAIL) & table.refused),
        written=written,
        read=read,
        lost_value=lost_value,
        first=int(first[0]),
        values=values,
        expected=expected,
        comparing=comparing,
    )


def _compared(table: OperationTable, expected: Ints) -> Values:
    """What each row writes; fills in ``expected`` for each cas."""
    values = list(table.argument)
    for row in np.flatnonzero(table.is_f("cas")).tolist():
        pair = values[row]
        if not isinstance(pair, tuple) or len(pair) != 2 or type(pair[0]) is not int:
            raise WrongOperations(
                f"versioned-register: a cas takes [expected version, value], not {pair!r}"
            )
        expected[row], values[row] = pair
    return Values.of(values)
