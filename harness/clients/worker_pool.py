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
from rumpus.harness.clients.messages import Command, Frames, Record, Report, frame
from rumpus.harness.clients.restartable_workers import RestartableWorkers
from rumpus.harness.clients.worker import Assignment
from rumpus.harness.clients.workers import ClientSpec, Exited, Started
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.harness.simulated_faults import ClientMachines

_CHUNK = 1 << 16  # bytes a read; from 128 KiB on malloc maps new pages for each, ten times as slow


class _Worker:
    """One process and the control process's end of its channel."""

    def __init__(self, process: subprocess.Popen[bytes], stream: socket.socket) -> None:
        self.process = process
        self.stream = stream
        self.frames: Frames[Any] = Frames(Report)
        self.paused = False
        self.killed = False
        self.killed_at: int | None = None
        self.ready = threading.Event()
        self.forgotten = threading.Event()


class WorkerPool(RestartableWorkers[_Worker]):
    """Operating system processes, one per client; implements ``harness.clients.workers.Workers``.

    Sending and receiving belong to one thread (the driver's). ``pause``, ``resume``, ``kill``
    and ``restart`` may come from another: what they did reaches the driver through ``notify``.

    Args:
        count: how many clients.
        spec: what they run.
        hosts: a client's connection string.
        logs: directory for ``c<n>.log``, and ``c<n>/`` with a client's files if it has any.
        notify: called with a message for the driver: a session ``Record``, or ``Exited`` /
            ``Started`` when a process ended or started.
        origin: what the system's monotonic clock said when the run's clock was 0, in ns.
    """

    machines: ClientMachines | None = None

    def __init__(
        self,
        count: int,
        spec: ClientSpec,
        *,
        hosts: Callable[[int], str],
        logs: Path,
        notify: Callable[[Record | Exited | Started], None],
        origin: int,
    ) -> None:
        self.count = count
        self._spec = spec
        self._hosts = hosts
        self._logs = logs
        self._notify = notify
        self._origin = origin
        self._workers = {}
        # A worker lives as long as the thread that started it, so one thread starts them all.
        self._starting = threading.Lock()
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker-starter")

    # -- the driver's side ----------------------------------------------------------------

    def start(self) -> None:
        """Start every process. They wait for ``Open``.

        Raises:
            EnvironmentRefusal: a process cannot be started.
        """
        for client in range(self.count):
            self._start(client)

    def stream(self, client: int) -> socket.socket:
        """The channel to watch for a client's messages."""
        return self._workers[client].stream

    def send(self, client: int, command: Command) -> None:
        """Send a command. For a dead client it is dropped: the death is reported by itself."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._workers[client].stream.sendall(frame(command))

    def receive(self, client: int) -> list[Report] | None:
        """Messages that have arrived; None when the channel has ended."""
        worker = self._workers[client]
        try:
            data = worker.stream.recv(_CHUNK)
        except ConnectionResetError:
            return None
        return worker.frames.feed(data) if data else None

    def forget(self, client: int) -> None:
        """Close the channel of a process that is gone; only now may the client be started again."""
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
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
        command = [
            sys.executable,
            "-P",
            "-m",
            "rumpus.harness.clients.worker",
            str(theirs.fileno()),
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            with (self._logs / f"c{client}.log").open("ab") as log:
                process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    process_group=0,  # Ctrl-C goes to the foreground group: we decide for all
                )
        except OSError as error:
            ours.close()
            raise EnvironmentRefusal(
                f"client c{client}'s process cannot be started: {error}; see whether the limit on "
                "processes or open files is reached (ulimit -u, ulimit -n)"
            ) from error
        finally:
            theirs.close()
        worker = _Worker(process, ours)
        self._workers[client] = worker
        assignment = Assignment(
            client=client,
            hosts=self._hosts(client),
            session_timeout=self._spec.session_timeout,
            build=self._spec.build,
            options=dict(self._spec.options),
            parent=os.getpid(),
            origin=self._origin,
            home=str((self._logs / f"c{client}").absolute()),
        )
        with contextlib.suppress(BrokenPipeError):
            ours.sendall(frame(assignment))

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

    def kill(self, client: int) -> None:
        """Kill it with SIGKILL."""
        worker = self._workers[client]
        if not worker.killed:
            worker.killed = True
            worker.process.kill()
            worker.process.wait()
            # Only now: until it was gone, it may have done something and reported it.
            worker.killed_at = self._clock()
            worker.paused = False
            self._notify(Exited(client))

    def state(self, client: int) -> ClientState:
        """What the operating system says of the process."""
        worker = self._workers[client]
        if worker.process.poll() is not None:
            return "dead"
        return "paused" if _is_stopped(worker.process.pid) else "running"

    def _clock(self) -> int:
        return time.monotonic_ns() - self._origin


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
