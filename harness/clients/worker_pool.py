"""The clients of a run as operating system processes, one per client."""

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.library import environment
from rumpus.harness.clients.stream_workers import SEND_BUFFER, StreamWorker, StreamWorkers
from rumpus.harness.ensemble import EnvironmentRefusal


class _Worker(StreamWorker):
    """A process that this one has started."""

    def __init__(self, process: subprocess.Popen[bytes], stream: socket.socket) -> None:
        super().__init__(stream)
        self.process = process

    def state(self) -> ClientState:
        """What the operating system says of the process."""
        if self.process.poll() is not None:
            return "dead"
        return "paused" if _is_stopped(self.process.pid) else "running"

    def freeze(self) -> None:
        """Send SIGSTOP."""
        self.process.send_signal(signal.SIGSTOP)

    def unfreeze(self) -> None:
        """Send SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()
        self.paused = False


class WorkerPool(StreamWorkers[_Worker]):
    """Operating system processes, one per client; implements ``harness.clients.workers.Workers``.

    What does not depend on how a process is started is in the base classes.
    """

    def __post_init__(self) -> None:
        """Create the thread that starts the processes."""
        super().__post_init__()
        # The kernel ends a worker when the *thread* that started it ends (PR_SET_PDEATHSIG), so one
        # thread, which lasts as long as the pool, starts them all.
        self._starting = threading.Lock()
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker-starter")

    def stop(self, patience: float = 0.5) -> None:
        """End every process: those that do not exit by themselves in time are killed."""
        with self._starting:
            self._stopped = True
        for worker in self._workers.values():
            if worker.process.poll() is None and worker.paused:
                worker.process.send_signal(signal.SIGCONT)
            worker.stream.close()
            worker.forgotten.set()
            worker.ready.set()
        deadline = time.monotonic() + patience
        for worker in self._workers.values():
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self._workers.clear()
        self._starter.shutdown()

    def _start(self, client: int) -> None:
        self._starter.submit(self._spawn, client).result()

    def _spawn(self, client: int) -> None:
        with self._starting:
            if not self._stopped:
                self._start_process(client)

    def _start_process(self, client: int) -> None:
        with contextlib.ExitStack() as opened:
            try:
                ours, theirs = map(opened.enter_context, socket.socketpair())
                theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
                process = self._popen(client, theirs)
            except OSError as error:
                raise EnvironmentRefusal(
                    f"client c{client}'s process cannot be started: {error}; see whether the limit "
                    "on processes or open files is reached (ulimit -u, ulimit -n)"
                ) from error
            opened.pop_all()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers[client] = worker
        worker.assign(self._assignment(client))

    def _popen(self, client: int, channel: socket.socket) -> subprocess.Popen[bytes]:
        """Start a client's process with its end of the channel.

        Raises:
            OSError: a limit is reached.
        """
        # Without ``-P`` the working directory would come before what is installed.
        worker = ["-P", "-m", "rumpus.harness.clients.worker", str(channel.fileno())]
        if self.spec.handler != HANDLERS[0]:
            worker[2:] = ["rumpus.harness.clients.patched_worker", worker[3], self.spec.handler]
        with (self.logs / f"c{client}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *worker],
                pass_fds=[channel.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(self.spec.library),
                # Ctrl-C then reaches the control process alone, which ends the clients in order.
                process_group=0,
            )


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal (state T)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        return text.rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:  # no /proc on this system: ask ps, as POSIX has it
        shown = subprocess.run(
            ["ps", "-o", "state=", "-p", str(pid)],  # noqa: S607 - wherever ps is
            capture_output=True,
            text=True,
            check=False,
        )
        return shown.stdout.strip().startswith("T")
