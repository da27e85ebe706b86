"""The clients of a run as operating system processes, one per client."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.library import environment
from rumpus.harness.clients.messages import Command, Frames, Report, frame
from rumpus.harness.clients.restartable_workers import RestartableWorkers
from rumpus.harness.clients.worker import Assignment
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.simulated_faults import ClientMachines
from rumpus.recipes.servers import ZOOKEEPER

_CHUNK = 1 << 16  # bytes a read; malloc maps new pages for 128 KiB and more, ten times as slow


class _Worker:
    """One process and the control process's end of its channel.

    ``ready`` is set when the client is open again after a restart, ``forgotten`` when its channel
    is closed after its end.
    """

    def __init__(self, process: subprocess.Popen[bytes], stream: socket.socket) -> None:
        self.process = process
        self.stream = stream
        self.frames: Frames[Any] = Frames(Report)
        self.paused = False
        self.killed = False
        self.killed_at: int | None = None
        self.ready = threading.Event()
        self.forgotten = threading.Event()

    def end(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait()
        self.paused = False


class WorkerPool(RestartableWorkers[_Worker]):
    """Operating system processes, one per client; implements ``harness.clients.workers.Workers``.

    Sending and receiving belong to one thread (the driver's). ``pause``, ``resume``, ``kill``
    and ``restart`` may be called from another thread; ``notify`` tells the driver what they did.
    Kills, restarts and what belongs to them are in the base class.
    """

    machines: ClientMachines | None = None

    def __post_init__(self) -> None:
        """Create the thread that starts the processes."""
        super().__post_init__()
        # The kernel ends a worker when the *thread* that started it ends (PR_SET_PDEATHSIG), so one
        # thread, which lasts as long as the pool, starts them all.
        self._starting = threading.Lock()
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker-starter")

    # -- the driver's side ----------------------------------------------------------------

    def stream(self, client: int) -> socket.socket:
        """The socket on which a client's messages arrive."""
        return self._workers[client].stream

    def send(self, client: int, command: Command) -> None:
        """Send a command. For a dead client it is dropped: ``receive`` tells of the death."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._workers[client].stream.sendall(frame(command))

    def receive(self, client: int) -> list[Report] | None:
        """Messages that have arrived whole, perhaps none; None at the end of the channel."""
        worker = self._workers[client]
        try:
            data = worker.stream.recv(_CHUNK)
        except ConnectionResetError:
            return None
        return worker.frames.feed(data) if data else None

    def forget(self, client: int) -> None:
        """Close the channel of a process that is gone. Only then can the client be restarted."""
        self._workers[client].stream.close()
        super().forget(client)

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
                for end in (ours, theirs):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
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
        zookeeper = self.spec.system == ZOOKEEPER
        assignment = Assignment(
            client=client,
            hosts=self.hosts(client) if zookeeper else "",
            session_timeout=self.spec.session_timeout,
            build=self.spec.build,
            options=dict(self.spec.options),
            parent=os.getpid(),
            origin=self.origin,
            home=str((self.logs / f"c{client}").absolute()),
            handler=self.spec.handler,
            servers="" if zookeeper else self.hosts(client),
        )
        with contextlib.suppress(BrokenPipeError):
            ours.sendall(frame(assignment))

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

    # -- the nemesis's side (harness.clients.clients.Clients) -------------------------------------

    def pause(self, client: int) -> None:
        """Freeze a client's process with SIGSTOP; returns when the system says it is stopped."""
        worker = self._workers[client]
        before = self._clock()
        worker.process.send_signal(signal.SIGSTOP)
        # Set even if the wait below times out: the process will stop sooner or later.
        worker.paused = True
        self._session_record(client, "paused", before)
        _wait_for(lambda: self.state(client) != "running")

    def resume(self, client: int) -> None:
        """Let it run again."""
        worker = self._workers[client]
        if not worker.paused:
            return
        worker.paused = False
        worker.process.send_signal(signal.SIGCONT)
        self._session_record(client, "resumed")

    def state(self, client: int) -> ClientState:
        """What the operating system says of the process."""
        worker = self._workers[client]
        if worker.process.poll() is not None:
            return "dead"
        return "paused" if _is_stopped(worker.process.pid) else "running"

    def _clock(self) -> int:
        return time.monotonic_ns() - self.origin


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


def _wait_for(condition: Callable[[], bool], patience: float = 2.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a process did not stop within two seconds of SIGSTOP")
        time.sleep(0.0005)
