"""Processes of their own for functions that may end the process in which they are called.

Whoever calls, a thread of a pool or of a Dask worker, has one process at a time. So it is known
which call has ended a process, and no other call is touched by that.
"""

import contextlib
import faulthandler
import gc
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from rumpus.harness.clients.worker import end_with_parent_thread
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.memory import bound
from rumpus.harness.run_limits import too_long
from rumpus.harness.scratch import make_scratch, remove_scratch
from rumpus.interruption import as_keyboard_interrupt

P = ParamSpec("P")
R = TypeVar("R")

_MAIN: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from rumpus.campaigns.run_process import main; "
    "main(int(sys.argv[1]), int(sys.argv[3]))"
)
"""The program of a process. The parent's modules are found in it, in the parent's order."""

_TRACE: Final = "trace.txt"
"""The file in a process's directory into which Python writes where a fatal signal has hit it."""

_TRACE_LINES: Final = 12


def program_for(parent: int) -> str:
    """The command line as code (``python -c``), for a process that ends with whoever starts it.

    It ends with the thread, too, as soon as that ends, however it does.

    Args:
        parent: the process that starts it. If it has ended before this one has asked the kernel to
            be told, the kernel tells nothing: it has another parent then.
    """
    return (
        "import os, sys; from rumpus.harness.clients.worker import end_with_parent_thread; "
        f"end_with_parent_thread(); os.getppid() == {parent} or os._exit(1); "
        "from rumpus.program import main; sys.exit(main())"
    )


class Surroundings(NamedTuple):
    """Where a caller's modules and files are found, and how long the caller waits.

    Attributes:
        path: its ``sys.path``.
        directory: its working directory; empty if that has been removed.
        seconds: after so long a call is ended with its process.
    """

    path: tuple[str, ...]
    directory: str
    seconds: float = math.inf


def surroundings(seconds: float = math.inf) -> Surroundings:
    """Those of this process, for a call that may take so long."""
    try:
        directory = str(Path.cwd())
    except OSError:
        directory = ""
    return Surroundings(tuple(sys.path), directory, seconds)


class ProcessEndedError(Exception):
    """The process has ended before it has answered.

    Args:
        how: ``SIGSEGV``, say, or ``exit status 3``.
        trace: what Python has said about it, line by line; often nothing.
    """

    def __init__(self, how: str, trace: Sequence[str] = ()) -> None:
        super().__init__(how)
        self.how, self.trace = how, tuple(trace)


class OutOfTimeError(ProcessEndedError):
    """The process was ended, as the caller waits no longer.

    Args:
        seconds: how long it has waited.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(too_long(seconds))


class RunProcess:
    """A process that calls one function after the other. Belongs to the thread that makes it.

    It does not outlive this process, nor that thread. What is called there may start further
    processes, and has a directory of its own for temporary files; all of them end with it.

    Args:
        scratch: where its directory is made; None: where temporary files usually are.
        memory: bytes that it, and each process that it starts, may take; None: as this one.

    Raises:
        EnvironmentRefusal: it cannot be started.
    """

    def __init__(self, scratch: str | None = None, memory: int | None = None) -> None:
        self._memory = memory or 0
        self._patience = 0.0
        self._ending = threading.Lock()
        self._place = make_scratch("process", scratch)
        try:
            self._channel, theirs = Pipe()
            with theirs:
                self._process = self._start(theirs)
        except OSError as error:
            remove_scratch(self._place)
            raise EnvironmentRefusal(
                f"a process for runs cannot be started: {error}; see whether the limit on "
                "processes or open files is reached (ulimit -u, ulimit -n)"
            ) from error

    def _start(self, channel: "Connection[Any, Any]") -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                *(sys.executable, "-P", "-c", _MAIN, str(channel.fileno())),
                *(json.dumps(sys.path), str(self._memory)),
            ],
            pass_fds=[channel.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what recipes print is no part of a command's answer
            env={**os.environ, "TMPDIR": str(self._place)},
            # Ctrl-C then reaches the caller alone, who ends this process.
            process_group=0,
        )

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def call(
        self,
        where: Surroundings,
        patience: float,
        function: Callable[P, R],
        /,
        *arguments: P.args,
        **named: P.kwargs,
    ) -> R:
        """Call a function in the process; what it returns.

        Args:
            where: the function's modules and files are found there, too; and how long it may take.
            patience: how many seconds the call is given to end in order if it is to end early.
            function: of a module; it must not raise exceptions.
            arguments: its arguments, which can be pickled.
            named: likewise.

        Raises:
            ProcessEndedError: it has ended the process.
            OutOfTimeError: it took too long, and was ended with the process.
        """
        self._patience = patience
        try:
            self._channel.send(where)
            self._channel.send((function, arguments, named))
            if not self._channel.poll(None if math.isinf(where.seconds) else where.seconds):
                self.end()
                raise OutOfTimeError(where.seconds)
            answer: R = self._channel.recv()
        except (EOFError, OSError) as error:
            raise self._ended() from error
        self._patience = 0.0
        return answer

    def end(self) -> None:
        """End the process and all that it has started; may be called by any thread."""
        with self._ending:
            if self._patience and self.runs:
                self._process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(self._patience)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            remove_scratch(self._place)

    def close(self) -> None:
        """End it, by the thread that calls."""
        self._channel.close()
        self.end()

    def _ended(self) -> ProcessEndedError:
        """How the process has ended, which it has, or will at once as its channel is closed."""
        code = self._process.wait()
        how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
        trace: list[str] = []
        with contextlib.suppress(OSError):  # the directory goes if somebody ends the process
            text = Path(self._place, _TRACE).read_text(errors="replace")
            trace = [line for line in text.splitlines() if line][:_TRACE_LINES]
        return ProcessEndedError(how, trace)


class ProcessGroup:
    """The processes of the threads of one executor.

    Args:
        memory: see `RunProcess`.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._processes: dict[int, RunProcess] = {}
        self.ended = False

    def of_thread(self, scratch: str | None = None) -> RunProcess:
        """This thread's process; a new one if it has none, or it has ended meanwhile.

        Args:
            scratch: see `RunProcess`.

        Raises:
            ProcessEndedError: all processes have been ended.
            EnvironmentRefusal: it cannot be started.
        """
        with self._lock:
            if self.ended:
                raise ProcessEndedError("nobody waits for it any more")
            mine = threading.get_ident()
            process = self._processes.get(mine)
            if process is not None and process.runs:
                return process
            if process is not None:
                process.close()
            self._processes[mine] = process = RunProcess(scratch, self._memory)
            return process

    def drop(self) -> None:
        """End this thread's process."""
        with self._lock:
            process = self._processes.pop(threading.get_ident(), None)
        if process is not None:
            process.close()

    def end(self) -> None:
        """End all processes, side by side; none is started any more."""
        with self._lock:
            self.ended = True
            processes = list(self._processes.values())
        enders = [threading.Thread(target=process.end) for process in processes]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()


def main(channel: int, memory: int) -> None:
    """Call functions as they come, until the channel is closed.

    Args:
        channel: the number of its file.
        memory: see `RunProcess`; 0 for None.
    """
    end_with_parent_thread()
    if memory:
        bound(memory)
    place = Path(os.environ["TMPDIR"])
    with (
        contextlib.suppress(KeyboardInterrupt, EOFError, ConnectionResetError, BrokenPipeError),
        as_keyboard_interrupt(),
        Connection(channel) as calls,
        (place / _TRACE).open("w") as trace,
    ):
        faulthandler.enable(trace, all_threads=False)
        while True:
            # The function's module is imported as it is received, so its place comes first.
            where = calls.recv()
            _settle(where)
            function, arguments, named = calls.recv()
            calls.send(function(*arguments, **named))
            _collect()


def _collect() -> None:
    """Free what the call has left in cycles.

    A run leaves some megabytes, and the collector would wait until they are many. What there is
    after the first call are mostly modules; they are not looked at again, so that this is cheap.
    """
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()


def _settle(where: Surroundings) -> None:
    """Find modules and files as the caller does, after those of this process."""
    sys.path += [place for place in where.path if place not in sys.path]
    with contextlib.suppress(OSError):  # on another machine it may not be there
        os.chdir(where.directory)
