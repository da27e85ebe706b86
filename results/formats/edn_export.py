"""Export of histories: as EDN for Jepsen and Knossos, as key-value logs for Porcupine.

Jepsen and Knossos take the order of the file for the order in time. So records are written in
order of time, and of records with the same time calls come before returns. Otherwise operations
that are concurrent here would become ordered there, and a correct history could be rejected.
"""

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from rumpus.checker.deciders.operation_table import FIELDS
from rumpus.checker.history import History, Op
from rumpus.results.formats.history_formats import KV_FUNCTIONS

_KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotExportable(ValueError):  # noqa: N818 - says what the history is
    """A history has something that the other format cannot express."""


def edn_history(history: History) -> Iterator[str]:
    """A history as one vector of maps, one map a line.

    `results.formats.edn_history` reads the same operations back from it. Records of other
    processes than clients get the type ``:info``, as those of Jepsen's nemesis have. A ``fail``
    without an error means here that the server answered "no", a lost compare-and-set for example.
    Jepsen has no such type: ``:refused true`` says it.

    Raises:
        NotExportable: a value has no form in EDN; the message names it.
    """
    before = "["
    for op in in_order(history):
        yield before + _record(op)
        before = "\n "
    yield "]\n" if before != "[" else "[]\n"


def porcupine_kv(history: History) -> Iterator[str]:
    """A history of get, put and append by key as a key-value log of Porcupine, one map a line.

    Failed operations did not happen and are left out. Operations of unknown outcome have a call
    but no return.

    Raises:
        NotExportable: it has other operations, or keys or values that are not strings; the
            message names the record.
    """
    operations = history.operations()
    for call, _ in operations:
        if call.f not in KV_FUNCTIONS:
            raise NotExportable(
                f"record {call.index} calls {call.f}, and key-value logs know only "
                f"{', '.join(sorted(KV_FUNCTIONS))}"
            )
    lines: list[tuple[Op, str]] = []
    for call, completion in operations:
        if completion is not None and completion.type == "fail":
            continue
        lines.append((call, _kv_line(call, "invoke", None if call.f == "get" else call)))
        if completion is not None and completion.type == "ok":
            told = completion if call.f == "get" else call
            lines.append((completion, _kv_line(call, "ok", told)))
    line_of = {id(op): line for op, line in lines}
    chosen = sorted((op for op, _ in lines), key=attrgetter("time"))
    yield from (line_of[id(op)] for op in in_order(chosen))


def in_order(records: Iterable[Op]) -> Iterator[Op]:
    """Records in order of time, and of records with the same time calls before returns.

    The records of one process keep their order, so if it returns and calls again at the same time,
    that return comes before that call.

    Args:
        records: in order of time.
    """
    for _, moment in groupby(records, key=attrgetter("time")):
        queues: dict[int | str, deque[Op]] = {}
        for op in moment:
            queues.setdefault(op.process, deque()).append(op)
        last: list[Op] = []
        while queues:
            for queue in queues.values():
                if queue[0].type == "invoke":
                    yield queue.popleft()
            for queue in filter(None, queues.values()):
                if len(queue) > 1:
                    yield queue.popleft()
                else:
                    last.append(queue.popleft())
            queues = {process: queue for process, queue in queues.items() if queue}
        yield from last


def _record(op: Op) -> str:
    client = isinstance(op.process, int)
    kind = op.type if client else "info"
    parts = [
        f":index {op.index}",
        f":time {op.time}",
        f":process {op.process if client else _name(str(op.process))}",
        f":type :{kind}",
        f":f {_name(op.f)}",
        f":value {_value(op.value)}",
    ]
    if op.error:
        parts.append(f":error {_value(op.error)}")
    elif kind == "fail":
        parts.append(":refused true")
    return f"{{{', '.join(parts)}}}"


def _kv_line(call: Op, kind: str, told: Op | None) -> str:
    """A line with the process and key of ``call`` and the value of ``told``."""
    return (
        f"{{:process {call.process}, :type :{kind}, :f :{call.f}, "
        f":key {_value(_text(call, 'key'))}, "
        f":value {'nil' if told is None else _value(_text(told, 'value'))}}}\n"
    )


def _text(op: Op, name: str) -> str:
    """The field ``name`` of an operation: ``key`` or ``value``."""
    parted = isinstance(op.value, dict) and FIELDS.issuperset(op.value)
    found = op.value.get(name) if parted else op.value if name == "value" else None
    if found is None and op.type == "ok":
        return ""  # a get of a key that was never put answers the empty string
    if not isinstance(found, str):
        raise NotExportable(f"record {op.index}: its {name} is {found!r:.60}, not a string")
    return found


def _name(name: str) -> str:
    return f":{name}" if _KEYWORD.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if math.isfinite(value):
                return repr(value)
            return "##NaN" if math.isnan(value) else "##Inf" if value > 0 else "##-Inf"
        case str():
            return f'"{"".join(map(_letter, value))}"'
        case list() | tuple():
            return f"[{' '.join(map(_value, value))}]"
        case dict():
            pairs = (f"{_name(key)} {_value(each)}" for key, each in value.items())
            return f"{{{', '.join(pairs)}}}"
    raise NotExportable(f"{value!r:.60} has no form in EDN here")


def _letter(letter: str) -> str:
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    return letter if letter.isprintable() or ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}"
