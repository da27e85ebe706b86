"""How long commands take that do little: processor time, least of several, beside bare Python's.

What they may import is tested (tests/rumpus/test_imports_of_commands.py). A command that imports a
library cannot take less than that library.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from rich.table import Table

from benchmarks.command_line import Scale, run_alone

OPERATIONS = 85


def processor_s(words: list[str], rounds: int) -> float:
    """Processor time of a process of this Python, in seconds: the least of some."""
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    found = []
    for _ in range(rounds):
        process = os.posix_spawn(
            sys.executable, [sys.executable, *words], os.environ, file_actions=nowhere
        )
        _, status, used = os.wait4(process, 0)
        assert os.waitstatus_to_exitcode(status) == 0, words
        found.append(used.ru_utime + used.ru_stime)
    return min(found)


def write_history(path: Path) -> None:
    """Writes and reads of a register by one client, one after the other."""
    calls = [("write" if number % 2 == 0 else "read", number // 2) for number in range(OPERATIONS)]
    records = [
        {"process": 0, "type": kind, "f": f, "value": value, "time": 2 * number + at}
        for number, (f, value) in enumerate(calls)
        for at, kind in enumerate(("invoke", "ok"))
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def measure(scale: Scale) -> Table:
    table = Table(title="Processor time of commands that do little")
    for column in ("command", "seconds", "times bare Python"):
        table.add_column(column, justify="left" if column == "command" else "right")
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder, "history.jsonl")
        write_history(history)
        check = ["check", str(history), "--model", "register"]
        commands = {
            "python -c pass": ["-c", "pass"],
            "python -c 'import numpy'": ["-c", "import numpy"],
            "rumpus --version": ["-m", "rumpus.program", "--version"],
            "rumpus --help": ["-m", "rumpus.program", "--help"],
            "rumpus list": ["-m", "rumpus.program", "list"],
            f"rumpus check, {OPERATIONS} operations": ["-m", "rumpus.program", *check],
        }
        found = {name: processor_s(words, scale.rounds(10)) for name, words in commands.items()}
    for name, spent in found.items():
        table.add_row(name, f"{spent:.3f}", f"{spent / found['python -c pass']:.1f}")
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
