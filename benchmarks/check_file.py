"""``rumpus check`` on a file of a million operations, all in: a new process from start to exit.

The files are JSON Lines as a run writes them: clients that take turns with a lock, whose grants
carry session, token and node; and clients that write and read a register. CPU is that of the
process and its kernel calls; the rest of the time was somebody else's.

``python -m benchmarks.check_file [--quick]``
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.checker.history import Op, OpType
from rumpus.results.history_file import HistoryWriter

OPERATIONS = 1_000_000
CLIENTS = 20
TARGET = 6  # seconds


def record(time: int, process: int, kind: OpType, f: str, value: object = None) -> Op:
    return Op(time=time, process=process, type=kind, f=f, value=value)


def lock(operations: int) -> Iterator[Op]:
    for turn in range(operations // 2):
        process, at = turn % CLIENTS, turn * 1000
        grant = {
            "session": f"0x20000{process:x}",
            "token": turn,
            "node": f"/rumpus/lock/746d0c74d7b04c818b6ad6fc9b9c17a0-contender-{turn:010d}",
        }
        yield record(at, process, "invoke", "acquire", {"timeout": 5.0})
        yield record(at + 200, process, "ok", "acquire", grant)
        yield record(at + 700, process, "invoke", "release")
        yield record(at + 900, process, "ok", "release")


def register(operations: int) -> Iterator[Op]:
    for turn in range(operations):
        process, at = turn % CLIENTS, turn * 1000
        f, asked = ("write", turn) if turn % 2 else ("read", None)
        told = asked if turn % 2 else turn - 1 if turn else None
        yield record(at, process, "invoke", f, asked)
        yield record(at + 500, process, "ok", f, told)


CASES: tuple[tuple[str, Callable[[int], Iterator[Op]]], ...] = (
    ("mutex", lock),
    ("register", register),
)


def check(path: Path, model: str) -> tuple[float, float, int]:
    """Seconds on the clock, seconds of CPU, and most bytes of memory of one ``rumpus check``."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "rumpus.program", "check", str(path), "--model", model]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert said
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def measure(scale: Scale) -> Table:
    operations = scale.count(OPERATIONS)
    table = Table(title=f"rumpus check, {operations:,} operations, target {TARGET} s for 1,000,000")
    for heading in ("model", "file", "seconds", "of rounds", "CPU", "memory"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    with tempfile.TemporaryDirectory(prefix="rumpus-bench-") as directory:
        for model, history in CASES:
            path = Path(directory) / f"{model}.jsonl"
            with HistoryWriter(path) as writer:
                for op in history(operations):
                    writer.append(op)
            rounds = [check(path, model) for _ in range(scale.rounds(5))]
            took = sorted(seconds for seconds, _, _ in rounds)
            table.add_row(
                model,
                f"{path.stat().st_size >> 20} MiB",
                f"{took[0]:.2f}",
                f"{took[0]:.2f} to {took[-1]:.2f}",
                f"{min(cpu for _, cpu, _ in rounds):.2f} s",
                f"{max(memory for _, _, memory in rounds) >> 20} MiB",
            )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
