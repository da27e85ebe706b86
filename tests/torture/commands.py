"""Calling the program thousands of times: each call is a child of this process, and measured.

A child is forked from a process that has imported everything (``warm``), so a call costs what it
does and not what Python takes to start.
"""

import io
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from rumpus import command_line
from rumpus.program import main

WALL_S = 60.0
"""A child that takes longer is killed."""


MOST_MEMORY = 4 << 30
"""Bytes of address space of a child: this machine has to outlive it."""


@dataclass(frozen=True)
class Ended:
    """How a call ended: CPU seconds, and the most memory in MB that it had in use.

    ``code`` is negative where a signal ended it.
    """

    code: int
    out: str
    err: str
    seconds: float
    memory: float

    @property
    def trouble(self) -> str | None:
        """What no call may be, in words."""
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if self.code not in range(5) or "Traceback" in self.err:
            return f"exit code {self.code}: {self.err[-300:]}"
        if self.seconds > 20:
            return f"took {self.seconds:.1f} s"
        if self.memory > 1000:
            return f"took {self.memory:.0f} MB"
        return None


@dataclass(frozen=True)
class Call:
    """What to call, and where its output goes."""

    words: tuple[str, ...]
    place: Path


def run_all(
    calls: Iterator[Call], heard: Callable[[Call, Ended], None], *, at_once: int = 2
) -> None:
    """Make all calls, some at a time; tell of each when it has ended."""
    living: dict[int, tuple[Call, float]] = {}
    more = True
    while more or living:
        while more and len(living) < at_once:
            call = next(calls, None)
            if call is None:
                more = False
            else:
                living[_begin(call)] = call, time.monotonic()
        for pid in list(living):
            call, began = living[pid]
            if time.monotonic() - began > WALL_S:
                os.kill(pid, signal.SIGKILL)
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                del living[pid]
                heard(call, _ended(call, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
        time.sleep(0.005)


def run_one(call: Call) -> Ended:
    """Make one call."""
    found: list[Ended] = []
    run_all(iter([call]), lambda _, ended: found.append(ended))
    return found[0]


def warm(*words: str) -> None:
    """Make a call in this process: what it imports, later calls need not."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        command_line.main(list(words))


def _ended(call: Call, status: int, seconds: float, kilobytes: int) -> Ended:
    out, err = ((call.place / name).read_text(errors="replace") for name in ("out", "err"))
    return Ended(os.waitstatus_to_exitcode(status), out, err, seconds, kilobytes / 1024)


def _begin(call: Call) -> int:
    call.place.mkdir(parents=True, exist_ok=True)
    if pid := os.fork():
        return pid
    try:
        for number, name in ((1, "out"), (2, "err")):
            file = os.open(call.place / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # A test's own streams would keep what is printed.
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", closefd=False, encoding="utf-8") for number in (1, 2)
        )
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        sys.argv = ["rumpus", *call.words]
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    finally:
        os._exit(70)  # an exception that nobody has caught
