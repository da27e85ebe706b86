"""``history.jsonl``: one record a line, written as the run goes (docs/history-format.md)."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from checker.history import History, Op
from results.store_error import StoreError, UnreadableRun

MAX_LINE = 16 * 1024 * 1024
"""Longest line that is written or read, in bytes with its newline."""

_LONGEST_WAIT = 100_000_000  # ns that a record may wait in memory while others are appended
_LARGEST_BATCH = 1024 * 1024  # bytes that may wait


class HistoryWriter:
    """Appends records to a new history file and numbers them.

    Records gather in memory and go to the operating system in whole batches: at ``flush``
    (call it once a turn of the driver), and on an append when the oldest has waited for
    100 ms. So a killed process loses at most its last batch.

    When the disk refuses, one ``StoreError`` is raised, the file is cut back to its last whole
    record, and ``broken`` is set; records appended afterwards are numbered and dropped, so that
    a run can still come to its orderly end.

    Args:
        path: the file to make; it must not exist yet.
        clock: nanoseconds, by which waiting is measured.

    Raises:
        StoreError: it cannot be made.
    """

    def __init__(self, path: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.path = path
        self.count = 0
        self.broken = False
        self._clock = clock
        self._encoder = msgspec.json.Encoder()
        self._batch = bytearray()
        self._oldest = 0
        try:
            self._file: int | None = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666
            )
        except OSError as error:
            raise StoreError.from_os_error(path, "begin a history", error) from error

    def append(self, op: Op) -> Op:
        """Take in a record; returns it with its index.

        Raises:
            StoreError: the disk refuses (once; see the class).
            TypeError: its value is something that JSON has no word for.
            ValueError: it is longer than ``MAX_LINE``.
        """
        op = msgspec.structs.replace(op, index=self.count)
        line = self._encoder.encode(op)
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
            StoreError: the disk refuses (once; see the class).
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
        """Cut the file after the last whole record of a batch of which a part was written."""
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


def read_history(path: Path, *, clients: int | None = None) -> History:
    """Load a history, up to its last whole line when it was cut off.

    Args:
        path: a file of JSON Lines.
        clients: how many clients there were, where that is known.

    Returns:
        The history; ``truncated`` unless its last record is the orderly end of a run
        (process ``control``, f ``end``).

    Raises:
        UnreadableRun: it cannot be read, or a line before the end is not a record; the message
            names the line.
    """
    decoder = msgspec.json.Decoder(Op)
    ops: list[Op] = []
    try:
        with path.open("rb") as file:
            for number, line in _whole_lines(path, file):
                try:
                    op = decoder.decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise _malformed(path, number, str(error)) from error
                ops.append(_with_index(path, number, op, ops[-1].index if ops else -1))
    except OSError as error:
        raise UnreadableRun.from_os_error(path, "read the history", error) from error
    ended = bool(ops) and ops[-1].process == "control" and ops[-1].f == "end"
    return History(ops, clients=clients, truncated=not ended)


def _whole_lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that end in a newline; a last one without it was cut and is left out."""
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise _malformed(path, number, f"longer than {MAX_LINE} bytes")
        if line.endswith(b"\n"):
            yield number, line


def _with_index(path: Path, number: int, op: Op, previous: int) -> Op:
    """A record under its index: its own, or its line's where it has none."""
    if op.index == -1:
        op = msgspec.structs.replace(op, index=number - 1)
    if op.index <= previous:
        raise _malformed(path, number, f"index {op.index} after index {previous}")
    return op


def _malformed(path: Path, number: int, why: str) -> UnreadableRun:
    return UnreadableRun(
        path,
        f"line {number} is not a record of a history ({why})",
        "see docs/history-format.md; remove or mend the line",
    )
