"""Reading histories in all formats as tables of operations.

==================  ===============================================================================
format              what it is
==================  ===============================================================================
``jsonl``           rumpus's own: one JSON object a line (``results.history_file``)
``edn``             Jepsen's and Knossos's: maps, one after the other or in one vector
                    (``results.formats.edn_history``)
``porcupine-etcd``  Jepsen's log of etcd's compare-and-set register (``formats.porcupine_log``)
``porcupine-kv``    maps in EDN with ``:key``, one a line: get, put and append
==================  ===============================================================================
"""

import contextlib
import gc
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rumpus.checker.deciders.operation_table import OperationTable, check_names
from rumpus.checker.deciders.table_builder import TableBuilder
from rumpus.checker.history import Op
from rumpus.results.formats.porcupine_log import LINE, read_etcd_records
from rumpus.results.history_file import read_records, refuse_more_memory
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import open_regular


def _read_edn_records(path: Path) -> Iterator[list[Op]]:
    from rumpus.results.formats.edn_history import (  # noqa: PLC0415 - slow to import
        read_edn_records,
    )

    return read_edn_records(path)


FORMATS: Final[Mapping[str, Callable[[Path], Iterator[list[Op]]]]] = {
    "jsonl": read_records,
    "edn": _read_edn_records,
    "porcupine-etcd": read_etcd_records,
    "porcupine-kv": _read_edn_records,
}
"""Format -> its reader, which yields the records in pieces, in the order of the file."""

KV_FUNCTIONS = frozenset({"get", "put", "append"})
"""The functions that logs in ``porcupine-kv`` may call."""

_HEAD = 64 * 1024  # bytes from which the format is detected
_JSON = re.compile(rb"\s*\{\s*[\"}]")
_BLANK = rb"(?:[\s,]++|;[^\n]*+)*+"
_EDN = re.compile(rb"[\s,]*(?:;|\(|\[|\{|\#)")
_RECORDS_IN_EDN = re.compile(_BLANK + rb"[\[(]?" + _BLANK + rb"(?:\{\s*:|\#[a-z])")
_KV = re.compile(
    rb"\s*\{(?=[^{}]*:key )(?=[^{}]*:f :(?:get|put|append)[ ,}])[^{}]*\}\s*$", re.MULTILINE
)


def detect_format(path: Path) -> str | None:
    """The format of a file; None if it begins like none of them.

    The first bytes decide. The file's name counts only if they fit none of the formats for certain.

    Raises:
        UnreadableRun: it cannot be read.
    """
    with open_regular(path, "read the history") as file:
        head = file.read(_HEAD)
    if any(LINE.fullmatch(line.rstrip()) for line in head.split(b"\n")):
        return "porcupine-etcd"
    if _JSON.match(head):
        return "jsonl"
    if _KV.match(head):
        return "porcupine-kv"
    if _RECORDS_IN_EDN.match(head):
        return "edn"
    if path.suffix in (".jsonl", ".json"):
        return "jsonl"
    return "edn" if _EDN.match(head) else None


def read_table(path: Path, name: str) -> OperationTable:
    """The operations of the clients in a file.

    Args:
        path: the file.
        name: its format, one of `FORMATS`.

    Raises:
        UnreadableRun: the file cannot be read or is not in that format, its calls and completions
            do not pair, it names keys or sessions in several ways, or it holds no operations; the
            message names the line or the record.
    """
    builder = TableBuilder()
    with _without_collection():
        try:
            for records in FORMATS[name](path):
                builder.add(records)
                refuse_more_memory(path)
            table = builder.build()
            check_names(table)
        except ValueError as error:
            raise UnreadableRun(
                path, f"no history ({error})", "see docs/reference/history-format.md"
            ) from error
    if not len(table):
        raise UnreadableRun(
            path, "there are no operations of clients in it", "name a file with a history"
        )
    if name == "porcupine-kv" and (strange := set(table.functions) - KV_FUNCTIONS):
        raise UnreadableRun(
            path,
            f"no key-value log of Porcupine (it calls {', '.join(sorted(strange))})",
            "read it with --format edn",
        )
    return table


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Switch the cyclic garbage collector off: millions of records are made, none with cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
