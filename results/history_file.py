"""``history.jsonl``: one record a line, written as the run goes.

docs/reference/history-format.md describes it.
"""

import contextlib
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from math import isinf
from operator import le
from pathlib import Path
from sys import intern
from typing import Any, Self

import msgspec

from rumpus.checker.history import History, Op, Process, wrong_process
from rumpus.checker.untrusted_file import LONGEST_LINE
from rumpus.results.store_error import StoreError, UnreadableRun
from rumpus.results.untrusted_file import open_regular

_SURE = len("0.23456789012345")
_LEAST = sys.float_info.min
_SHOWN = 40

MAX_LINE = LONGEST_LINE
"""Longest line that is written or read, in bytes with its newline."""

MOST_MEMORY = 8 << 30
"""Bytes that a history may take: ten million operations take about 4 GiB."""

_LONGEST_WAIT = 100_000_000  # ns that a record may wait in memory while others are appended
_LARGEST_BATCH = 1024 * 1024  # bytes that may wait

_PIECE = 256 * 1024  # bytes that are read at once: their records fit the CPU's cache
_ENCODER = msgspec.json.Encoder()
_TOO_LONG = f"longer than {MAX_LINE} bytes"
_KEYS = tuple(f'"{name}"'.encode() for name in ("type", "process", "f", "time", "index", "error"))
"""Keys of a record that are rare within values, so that counting them finds the records to read."""

_HALF_A_CHARACTER = re.compile(
    rb"(?<!\\)(?:\\\\)*(\\ud[89ab][0-9a-f]{2})(?!\\ud[c-f])", re.IGNORECASE
)
_DECODING = msgspec.MsgspecError, UnicodeDecodeError, RecursionError


class _Line(Op, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A record as it is written: a value or error that is null is left out."""


class HistoryWriter:
    """Appends records to a new history file and numbers them.

    Records gather in memory and go to the operating system in whole batches: at ``flush``
    (to be called once in each turn of the driver's loop), and on an append when the oldest record
    has waited for 100 ms or the batch has 1 MiB. So a killed process loses at most its last batch.

    When writing fails, one ``StoreError`` is raised, the file is cut back to its last whole
    record, and ``broken`` is set; records appended afterwards are numbered and dropped, so that
    a run can still come to its orderly end.

    Args:
        path: the file to make; it must not exist yet.
        clock: nanoseconds, by which waiting is measured.

    Raises:
        StoreError: the file cannot be made.
    """

    def __init__(self, path: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.path = path
        self.count = 0
        self.broken = False
        self._clock = clock
        self._batch = bytearray()
        self._oldest = 0
        try:
            self._file: int | None = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
            )
        except OSError as error:
            raise StoreError.from_os_error(path, "begin a history", error) from error

    def append(self, op: Op) -> Op:
        """Append a record; returns it with its index.

        Raises:
            StoreError: writing fails (raised once; see the class).
            TypeError: its value cannot be written as JSON.
            ValueError: it is longer than ``MAX_LINE``.
        """
        op = msgspec.structs.replace(op, index=self.count)
        line = encode_record(op)
        if len(line) >= MAX_LINE:
            raise ValueError(f"record {self.count} ({op.f}) has {len(line)} bytes: too long")
        self.count += 1
        if self.broken:
            return op
        if not self._batch:
            self._oldest = self._clock()
        self._batch += line
        self._batch += b"\n"
        if len(self._batch) > _LARGEST_BATCH or self._clock() - self._oldest > _LONGEST_WAIT:
            self.flush()
        return op

    def flush(self) -> None:
        """Hand everything to the operating system.

        Raises:
            StoreError: writing fails (raised once; see the class).
        """
        if self._file is None or not self._batch or self.broken:
            return
        written = 0
        try:
            while written < len(self._batch):
                written += os.write(self._file, memoryview(self._batch)[written:])
        except OSError as error:
            self.broken = True
            self._drop_torn_record(written)
            raise StoreError.from_os_error(self.path, "write the history", error) from error
        finally:
            self._batch = bytearray()

    def _drop_torn_record(self, written: int) -> None:
        """Cut a partial record off the file, after ``written`` bytes of a batch were written."""
        torn = written - (self._batch.rfind(b"\n", 0, written) + 1)
        if self._file is not None and torn:
            os.ftruncate(self._file, os.fstat(self._file).st_size - torn)

    def close(self) -> None:
        """Flush and close. May be called more than once."""
        try:
            self.flush()
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def encode_record(op: Op) -> bytes:
    """A record's line in the file, without its newline; a value or error of null is left out.

    Raises:
        TypeError: its value cannot be written as JSON.
    """
    return _ENCODER.encode(
        _Line(
            index=op.index,
            time=op.time,
            process=op.process,
            type=op.type,
            f=op.f,
            value=op.value,
            error=op.error,
        )
    )


class PackedOp(Op, frozen=True, kw_only=True, gc=False):
    """A record whose value, if it is a JSON object, is kept as bytes and decoded at each access.

    The bytes are MessagePack: the object's values, then the index of its names in ``_NAMES``. A
    value in this form takes a quarter of the memory, and values are most of a long history.
    """

    @property  # type: ignore[misc] # it hides a field that is frozen, too
    def value(self) -> Any:
        """The value, as in ``Op``; where it was kept as bytes, a new object each time."""
        kept = _KEPT(self)
        if type(kept) is not bytes:
            return kept
        values = _DECODE(kept)
        return dict(zip(_NAMES[values[-1]], values))  # noqa: B905 - the index at the end is left over

    def __eq__(self, other: object) -> bool:
        """Whether another record, packed or not, has the same fields."""
        if not isinstance(other, Op):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Op.__struct_fields__)

    def __hash__(self) -> int:
        """The hash of its index, which identifies it in its history."""
        return hash(self.index)


_KEPT = Op.__dict__["value"].__get__
_DECODE = msgspec.msgpack.Decoder().decode
_MOST_SHARED = 1024
_MOST_NAMES = 4096
_NAMES: list[tuple[str, ...]] = []
"""The lists of names that objects have; they are few, and the same in all of a workload."""
_NUMBERS: dict[tuple[str, ...], int] = {}


def _packed(path: Path) -> Iterator[Op]:
    """The records of a history in little memory: packed, and with equal strings shared."""
    shared: dict[bytes, Any] = {}
    processes: dict[Process, Process] = {}
    encoder, buffer = msgspec.msgpack.Encoder(), bytearray()
    for piece in read_records(path):
        for op in piece:
            value = op.value
            if type(value) is dict and (number := _number(tuple(value))) is not None:
                with contextlib.suppress(OverflowError):  # an integer too large for MessagePack
                    encoder.encode_into([*value.values(), number], buffer)
                    kept = bytes(buffer)  # no larger than needed, as ``encode``'s are
                    if len(shared) < _MOST_SHARED:
                        shared.setdefault(kept, value)
                    value = shared.get(kept, kept)
            yield (PackedOp if type(value) is bytes else Op)(
                index=op.index,
                time=op.time,
                process=processes.setdefault(op.process, op.process),
                type=op.type,
                f=intern(op.f),
                value=value,
                error=op.error,
            )
        refuse_more_memory(path)


def _number(names: tuple[str, ...]) -> int | None:
    """The index of an object's names in ``_NAMES``; None if they are new and there are too many."""
    number = _NUMBERS.get(names)
    if number is None and len(_NAMES) < _MOST_NAMES:
        number = _NUMBERS[names] = len(_NAMES)
        _NAMES.append(names)
    return number


def read_history(path: Path, *, clients: int | None = None) -> History:
    """Load a history; one that was cut off is read up to its last whole record.

    Args:
        path: a file of JSON Lines.
        clients: how many clients there were, where that is known.

    Returns:
        The history; ``truncated`` unless its last record is the orderly end of a run
        (process ``control``, f ``end``).

    Raises:
        UnreadableRun: it cannot be read, a line before the end is not a record, or it takes more
            memory than `MOST_MEMORY`; the message names a malformed line.
    """
    ops = list(_packed(path))
    ended = bool(ops) and ops[-1].process == "control" and ops[-1].f == "end"
    return History(ops, clients=clients, truncated=not ended)


def refuse_more_memory(path: Path) -> None:
    """Stop before a history uses up the memory, as large nested values in many records could.

    Raises:
        UnreadableRun: this process has taken more than `MOST_MEMORY`.
    """
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > MOST_MEMORY:
        raise UnreadableRun(
            path,
            f"what is in it takes more than {MOST_MEMORY >> 20:,} MiB of memory",
            "judge it in parts, by key or by time",
        )


def read_records(path: Path) -> Iterator[list[Op]]:
    """The records of a history in pieces, in the order of the file, each with its index.

    A file may be cut off anywhere. What follows the last newline is used if it is a whole record
    and left out if not; a part of a record is never taken for one, as its last brace is missing.

    Raises:
        UnreadableRun: it cannot be read, a line before the end is not a record, or a process is
            neither a client nor has one of the known names; the message names the line.
    """
    decoder = msgspec.json.Decoder(Op, float_hook=_distinct)
    number, previous = 0, -1
    for lines, count in _whole_lines(path):
        ops = _decoded(path, decoder, lines, number, count)
        if b"\\u" in lines or any(lines.count(key) > len(ops) for key in _KEYS):
            _refuse_repeated_keys(path, lines, number)
        indices = [op.index for op in ops]
        if ops and (indices[0] <= previous or any(map(le, indices[1:], indices))):
            ops = _with_indices(path, ops, number, previous)
        for at, op in enumerate(ops):
            if type(op.process) is not int and (why := wrong_process(op)):
                raise _malformed(path, number + at + 1, why)
        number += count
        if ops:
            previous = ops[-1].index
            yield ops


def _distinct(text: str) -> float:
    """A number with a point or an exponent.

    Raises:
        ValueError: as a double it is the same as another number, or none.
    """
    number = float(text)
    # With 15 digits no two are the same, unless they are next to nothing. What programs print has
    # up to 17, and is the shortest.
    sure = len(text) <= _SURE and abs(number) >= _LEAST
    if isinf(number) or not (sure or Decimal(repr(number)) == Decimal(text)):
        raise ValueError(
            f"{text[:_SHOWN]} would be rounded to {number!r}: write it with fewer digits, as an "
            "integer or as text"
        )
    return number


def _whole_lines(path: Path) -> Iterator[tuple[bytes, int]]:
    """The file in pieces that end where a line does, and how many newlines are in each."""
    number, rest = 0, b""
    with open_regular(path, "read the history") as file:
        while data := rest + (more := file.read(_PIECE)):
            first, cut = data.find(b"\n") + 1, data.rfind(b"\n") + 1
            if first > MAX_LINE:
                raise _malformed(path, number + 1, _TOO_LONG)
            if not more:
                yield data, 0
                return
            count = data.count(b"\n")
            number += count
            if len(data) - cut > MAX_LINE:
                raise _malformed(path, number + 1, _TOO_LONG)
            if cut:
                yield data[:cut], count
            rest = data[cut:]


def _decoded(
    path: Path, decoder: msgspec.json.Decoder[Op], lines: bytes, number: int, count: int
) -> list[Op]:
    """The records of ``count`` whole lines and perhaps a rest; ``number`` lines came before."""
    with contextlib.suppress(*_DECODING):
        ops = decoder.decode_lines(lines)
        if len(ops) == count:  # else some were empty: the decoder skips them
            return ops
    ops = []
    *whole, rest = lines.split(b"\n")
    for line in whole:
        try:
            ops.append(decoder.decode(line))
        except _DECODING as error:
            raise _malformed(path, number + len(ops) + 1, _why_not(line, error)) from error
    if rest:
        with contextlib.suppress(*_DECODING):
            ops.append(decoder.decode(rest))
    return ops


def _refuse_repeated_keys(path: Path, lines: bytes, number: int) -> None:
    """Refuse a record with a key twice: which of the two counts, programs decide differently."""
    for at, line in enumerate(lines.split(b"\n"), number + 1):
        if b"\\u" in line or any(line.count(key) > 1 for key in _KEYS):
            with contextlib.suppress(ValueError, RecursionError):  # a rest that is no record
                json.loads(
                    line, object_pairs_hook=partial(_without_repeats, path, at), parse_int=str
                )


def _without_repeats(path: Path, line: int, pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _malformed(path, line, f"it has the key {key!r} twice")
        seen.add(key)


def _why_not(line: bytes, error: Exception) -> str:
    """What is wrong with a line, where the decoder would only say that it is too short."""
    if not line.strip():
        return "it is empty"
    if half := _HALF_A_CHARACTER.search(line):
        return f"{half[1].decode()} is half of a character, and the other half is missing"
    return str(error)


def _with_indices(path: Path, ops: list[Op], number: int, previous: int) -> list[Op]:
    """Records with their own indices, or where they have none, with those of their lines.

    Raises:
        UnreadableRun: an index is not above the one before it.
    """
    named = []
    for line, op in enumerate(ops, number + 1):
        numbered = msgspec.structs.replace(op, index=line - 1) if op.index == -1 else op
        if numbered.index <= previous:
            raise _malformed(path, line, f"index {numbered.index} after index {previous}")
        previous = numbered.index
        named.append(numbered)
    return named


def _malformed(path: Path, number: int, why: str) -> UnreadableRun:
    return UnreadableRun(
        path,
        f"line {number} is not a record of a history ({why})",
        "see docs/reference/history-format.md; remove or mend the line",
    )
