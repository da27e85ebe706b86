"""Commands that take a while, whose lines are reported, and that end with whoever calls them."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable

from rumpus.harness.ensemble import EnvironmentRefusal

_KEEPER = """
import ctypes, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: None)
signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGTERM))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGHUP, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    sys.exit(subprocess.call(sys.argv[2:]))
"""
"""Starts the command, in a group of processes that it leads. The kernel sends it SIGHUP when the
thread that started it ends, by SIGKILL, too; the command's own children would get nothing."""


def watched(
    command: list[str], report: Callable[[str], None], failing: str, *, quiet: bool = False
) -> None:
    """Run a command and report its lines. If this process is interrupted or killed, it is ended.

    Raises:
        EnvironmentRefusal: it failed; the message is ``failing`` and its last lines.
    """
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _KEEPER, str(os.getpid()), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        process_group=0,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                if not quiet:
                    report(lines[-1])
        except BaseException:
            # SIGTERM, not SIGKILL: so debootstrap unmounts what it has mounted.
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode:
        raise EnvironmentRefusal(f"{failing}:\n" + "\n".join(lines[-8:]))
