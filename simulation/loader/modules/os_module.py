"""``os``: the identity of the process, its randomness, its pipes; files are the real ones."""

import errno
import os
import signal
from types import ModuleType
from typing import Any

from rumpus.simulation.kernel.errors import ProcessKilled
from rumpus.simulation.loader.modules.descriptor import FIRST_NUMBER
from rumpus.simulation.loader.modules.pipes import PipeEnd, broken, pipe
from rumpus.simulation.loader.modules.refused_modules import refusing
from rumpus.simulation.loader.modules.simulated_module import simulated
from rumpus.simulation.loader.runtime import CPU_COUNT, Runtime

PARENT = 1

_REFUSED = (
    "eventfd", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
    "fork", "forkpty", "killpg", "openpty", "pidfd_open", "pipe2", "popen", "posix_spawn",
    "posix_spawnp", "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv",
    "spawnve", "spawnvp", "spawnvpe", "system", "wait", "wait3", "wait4", "waitid", "waitpid",
)  # fmt: skip

HARMLESS = (0, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE)
"""Signals that are ignored if no handler is registered; Python ignores SIGPIPE."""

FATAL = frozenset(signal.valid_signals()).difference(
    HARMLESS,
    (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT),
)
"""Signals that end a process that has registered no handler. Handlers are never called here."""


def build(runtime: Runtime) -> ModuleType:
    """The ``os`` of a process."""
    process = runtime.process
    simulator = runtime.simulator
    stream = simulator.random(f"urandom of {process.name} {process.pid}")

    def end(status: int = 0, /) -> None:
        del status  # nobody waits for it
        process.kill()
        raise ProcessKilled

    def kill(pid: int, sig: int, /) -> None:
        for other in simulator.processes:
            if other.pid == pid and not other.dead:
                break
        else:
            raise broken(errno.ESRCH)
        if sig in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            other.freeze()
        elif sig == signal.SIGCONT:
            other.thaw()
        elif sig in FATAL:
            other.kill()
        elif sig not in HARMLESS:
            raise broken(errno.EINVAL)

    def pipe_end(number: int) -> PipeEnd:
        found = runtime.files.find(number)
        if not isinstance(found, PipeEnd):
            raise broken(errno.EINVAL)
        return found

    streams = {0: None, 1: runtime.stdout, 2: runtime.stderr} if runtime.stdout else {}
    """The process's own standard streams. It reads nothing, as clients of real runs do."""

    def read(fd: int, n: int, /) -> bytes:
        if fd in streams:
            return b""
        return os.read(fd, n) if fd < FIRST_NUMBER else pipe_end(fd).read(n)

    def write(fd: int, data: Any, /) -> int:
        if fd in streams:
            if (stream := streams[fd]) is not None:
                stream.write(bytes(data).decode(errors="replace"))
            return len(data)
        return os.write(fd, data) if fd < FIRST_NUMBER else pipe_end(fd).write(data)

    def close(fd: int) -> None:
        if fd in streams:
            streams[fd] = None
        elif fd < FIRST_NUMBER:
            os.close(fd)
        else:
            runtime.files.find(fd).close()

    def set_blocking(fd: int, blocking: bool, /) -> None:
        if fd < FIRST_NUMBER:
            os.set_blocking(fd, blocking)
        else:
            pipe_end(fd).blocking = blocking

    def get_blocking(fd: int, /) -> bool:
        return os.get_blocking(fd) if fd < FIRST_NUMBER else pipe_end(fd).blocking

    return simulated(
        os,
        _exit=end,
        abort=end,
        close=close,
        cpu_count=lambda: CPU_COUNT,
        get_blocking=get_blocking,
        getloadavg=lambda: (0.0, 0.0, 0.0),
        getpgid=lambda _=0: process.pid,
        getpgrp=lambda: process.pid,
        getpid=lambda: process.pid,
        getppid=lambda: PARENT,
        getrandom=lambda size, flags=0: stream.randbytes(size),  # noqa: ARG005 - as in os
        getsid=lambda _=0: process.pid,
        kill=kill,
        pipe=lambda: pipe(runtime.files),
        read=read,
        register_at_fork=lambda **_: None,
        sched_getaffinity=lambda _: set(range(CPU_COUNT)),
        set_blocking=set_blocking,
        urandom=stream.randbytes,
        write=write,
        **{name: refusing(runtime, f"os.{name}") for name in _REFUSED if hasattr(os, name)},
    )
