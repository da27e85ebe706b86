"""The logs of Jepsen's etcd test that Porcupine is tested with: a compare-and-set register.

A line is ``INFO  jepsen.util - `` and then, with white space between, process, type, function and
value: ``nil``, a number, two numbers in brackets, or ``:timed-out`` in place of a value. Lines of
other loggers are skipped. A record's position in the file counts as its time.

A ``cas`` that fails with a value was answered: etcd compared, and found another value. A ``cas``
that fails with ``:timed-out`` was not answered.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rumpus.checker.history import Op, wrong_process
from rumpus.results.store_error import UnreadableRun
from rumpus.results.untrusted_file import open_regular

_LONGEST_LINE = 64 * 1024
_AT_ONCE = 10_000  # records in a piece

LINE = re.compile(
    rb"INFO\s+jepsen\.util - (?P<process>[0-9]{1,15}|:[a-z-]+)\s+:(?P<type>invoke|ok|fail|info)"
    rb"\s+:(?P<f>[a-z-]+)\s+(?P<value>\S.*)"
)
"""A record of such a log, without the white space at its end."""

_VALUE = re.compile(r"nil|(-?[0-9]{1,18})|\[(-?[0-9]{1,18}) (-?[0-9]{1,18})\]|:([a-z-]+)")
_OF_OTHERS = re.compile(rb"\s*$|(?:DEBUG|INFO|WARN|ERROR)\s++(?!jepsen\.util - )")


def read_etcd_records(path: Path) -> Iterator[list[Op]]:
    """The records of a log, in pieces, in the order of the file.

    Raises:
        UnreadableRun: it cannot be read, or a line is no record; the message names the line.
    """
    piece: list[Op] = []
    count = number = 0
    with open_regular(path, "read the log") as file:
        while line := file.readline(_LONGEST_LINE):
            number += 1
            text = line.rstrip()
            record = LINE.fullmatch(text)
            if record is None and _OF_OTHERS.match(text) and line.endswith(b"\n"):
                continue
            op = _op(count, record) if record else None
            if op is None or wrong_process(op):
                raise UnreadableRun(
                    path,
                    f"line {number} is no record of an etcd log ({text[:60]!r})",
                    "mend the line, or name another --format",
                )
            count += 1
            piece.append(op)
            if len(piece) == _AT_ONCE:
                yield piece
                piece = []
    yield piece


def _op(count: int, record: re.Match[bytes]) -> Op | None:
    """The record; None if its value cannot be read."""
    process, kind, f, text = (part.decode("latin-1") for part in record.groups())
    client = process.isdigit()
    value: Any = None
    error = None
    if client:
        found = _VALUE.fullmatch(text)
        if found is None:
            return None
        number, old, new, error = found.groups()
        value = int(number) if number else [int(old), int(new)] if old else None
    return Op(
        index=count,
        time=count,
        process=int(process) if client else process[1:],
        type=kind,  # type: ignore[arg-type] # the pattern allows only these
        f=f,
        value=value,
        error=error,
    )
