"""Histories in EDN: Jepsen's and Knossos's, and the key-value logs of Porcupine.

A record is a map with ``:process``, ``:type``, ``:f`` and ``:value``, where there is one
``:error``, and in a recorded run ``:time`` in nanoseconds and ``:index``. Without ``:time`` the
place in the file is the time; without ``:index`` it is the index. Other keys say what was worked
on (``:key`` in Porcupine's logs). Those that an operation table has columns for (`FIELDS`) are
kept, in one dictionary with the value.

In Jepsen ``fail`` means that the operation did not happen. Here a failure without an error means
more: the system looked, and answered no. So a ``fail`` without an error is given one, `NO_REASON`,
unless ``:refused true`` marks it as an answer (``results.formats.edn_export`` writes that; Jepsen
and Knossos ignore keys that they do not know).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from rumpus.checker.deciders.operation_table import FIELDS
from rumpus.checker.history import Op, OpType, wrong_process
from rumpus.results.formats.edn import MalformedEdn, read_forms
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import open_regular

NO_REASON = "it failed, and no reason was recorded"
"""The error of a failed operation that came without one."""

_AT_ONCE = 10_000  # records in a piece
_LONGEST_ERROR = 1000  # characters that are kept of a failure's reason
_TYPES = frozenset(get_args(OpType))
_OTHER_FIELDS = FIELDS - {"value"}


def read_edn_records(path: Path) -> Iterator[list[Op]]:
    """The records of a history in EDN, in pieces, in the order of the file.

    Raises:
        UnreadableRun: it cannot be read, is not EDN, or has a form that is no record; the
            message names the line.
    """
    records = _Records()
    piece: list[Op] = []
    with open_regular(path, "read the history") as file:
        try:
            for line, form in read_forms(file):
                piece.append(records.next(line, form))
                if len(piece) == _AT_ONCE:
                    yield piece
                    piece = []
        except MalformedEdn as error:
            raise UnreadableRun(
                path,
                f"line {error.line}: no history in EDN ({error.why})",
                "see docs/reference/history-format.md; mend the file, or name another --format",
            ) from error
    yield piece


class _Records:
    """Turns EDN forms into records, one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._indices: dict[int, int] = {}
        self._time = -1
        self._timed: bool | None = None  # whether clients' records have a :time

    def next(self, line: int, form: Any) -> Op:
        """Turn one form into a record.

        Raises:
            MalformedEdn: it is no record.
        """
        if not isinstance(form, dict):
            raise MalformedEdn(line, f"a record is a map, not {_short(form)}")
        process = form.get("process")
        if type(process) is not int and not (isinstance(process, str) and process):
            raise MalformedEdn(line, f":process is {_short(process)}")
        kind = form.get("type")
        if not isinstance(kind, str) or kind not in _TYPES:
            raise MalformedEdn(line, f":type is {_short(kind)}, not :invoke, :ok, :fail or :info")
        f = form.get("f")
        if not isinstance(f, str):
            if isinstance(process, int):
                raise MalformedEdn(line, f":f is {_short(f)}")
            f = _short(f)
        index = form.get("index", self._count)
        if type(index) is not int or index < 0:
            raise MalformedEdn(line, f":index is {_short(index)}")
        if isinstance(process, int):
            # The order of a process's records decides where their times tie.
            if index <= (former := self._indices.get(process, -1)):
                raise MalformedEdn(line, f":index is {index}, after {former} of the same process")
            self._indices[process] = index
        time = self._time_of(line, form, client=isinstance(process, int))
        self._count, self._time = self._count + 1, time
        op = Op(
            index=index,
            time=time,
            process=process,
            type=kind,  # type: ignore[arg-type] # checked above
            f=f,
            value=_value(form),
            error=_error(form, kind),
        )
        if why := wrong_process(op):
            raise MalformedEdn(line, why)
        return op

    def _time_of(self, line: int, form: dict[Any, Any], *, client: bool) -> int:
        time = form.get("time")
        if time is not None and type(time) is not int:
            raise MalformedEdn(line, f":time is {_short(time)}, not nanoseconds")
        if client and self._timed is None:
            self._timed = time is not None
        if client and self._timed is not (time is not None):
            raise MalformedEdn(line, "some records have a :time and some have none")
        if not self._timed:
            return self._count
        return self._time if time is None else time


def _value(form: dict[Any, Any]) -> Any:
    """A record's value; in a dictionary with its other `FIELDS`, if it has any."""
    value = form.get("value")
    if len(form) > 4 and not _OTHER_FIELDS.isdisjoint(form):
        around = {name: form[name] for name in form if name in _OTHER_FIELDS}
        if isinstance(value, dict) and value and FIELDS.issuperset(value):
            return around | value
        return {**around, "value": value}
    return value


def _error(form: dict[Any, Any], kind: str) -> str | None:
    error = form.get("error")
    if error is None or error is False:
        refused = form.get("refused") is True
        return NO_REASON if kind == "fail" and not refused else None
    return _short(error)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "nil" if value is None else repr(value)
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}..."
