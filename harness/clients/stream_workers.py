"""Clients' processes whose channels are stream sockets: what processes of every kind share."""

import contextlib
import os
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.messages import Command, Frames, Report, frame
from rumpus.harness.clients.restartable_workers import RestartableWorkers
from rumpus.harness.clients.worker import Assignment
from rumpus.harness.simulated_faults import ClientMachines, ClientThreads
from rumpus.recipes.servers import ZOOKEEPER

_CHUNK = 1 << 16  # bytes a read; malloc maps new pages for 128 KiB and more, ten times as slow
SEND_BUFFER = 1 << 20
"""Bytes that a channel takes although its reader is frozen."""


class StreamWorker(ABC):
    """One process and the control process's end of its channel.

    ``ready`` is set when the client is open again after a restart, ``forgotten`` when its channel
    is closed after its end.
    """

    def __init__(self, stream: socket.socket) -> None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.stream = stream
        self.frames: Frames[Any] = Frames(Report)
        self.paused = False
        self.killed = False
        self.killed_at: int | None = None
        self.kill_called: int | None = None
        self.ready = threading.Event()
        self.forgotten = threading.Event()

    @abstractmethod
    def state(self) -> ClientState:
        """What the operating system says of the process."""

    @abstractmethod
    def freeze(self) -> None:
        """Send SIGSTOP."""

    @abstractmethod
    def unfreeze(self) -> None:
        """Send SIGCONT."""

    @abstractmethod
    def end(self) -> None:
        """Kill the process with SIGKILL; returns when it is gone."""

    def assign(self, assignment: Assignment) -> None:
        """Tell the process what it runs."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.stream.sendall(frame(assignment))


WorkerKind = TypeVar("WorkerKind", bound=StreamWorker)


class StreamWorkers(RestartableWorkers[WorkerKind]):
    """The methods of ``harness.clients.workers.Workers`` that need just a process and its socket.

    Sending and receiving belong to one thread (the driver's). ``pause``, ``resume``, ``kill``
    and ``restart`` may be called from another thread; ``notify`` tells the driver what they did.
    """

    machines: ClientMachines | None = None
    threads: ClientThreads | None = None

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

    # -- the nemesis's side (harness.clients.clients.Clients) -------------------------------------

    def pause(self, client: int) -> None:
        """Freeze a client's process with SIGSTOP; returns when the system says it is stopped."""
        worker = self._workers[client]
        before = self._clock()
        worker.freeze()
        # Set even if the wait below times out: the process will stop sooner or later.
        worker.paused = True
        self._session_record(client, "paused", before)
        _wait_for(lambda: worker.state() != "running")

    def kill(self, client: int) -> None:
        """Kill a client's process, and note when that began."""
        worker = self._workers[client]
        if worker.kill_called is None:
            worker.kill_called = self._clock()
        super().kill(client)

    def kill_called(self, client: int) -> int | None:
        """When ``kill`` was called on the process; None if it was not."""
        return self._workers[client].kill_called

    def resume(self, client: int) -> None:
        """Let it run again."""
        worker = self._workers[client]
        if not worker.paused:
            return
        worker.paused = False
        worker.unfreeze()
        self._session_record(client, "resumed")

    def state(self, client: int) -> ClientState:
        """What the operating system says of the process."""
        return self._workers[client].state()

    def _assignment(self, client: int) -> Assignment:
        zookeeper = self.spec.system == ZOOKEEPER
        return Assignment(
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

    def _clock(self) -> int:
        return time.monotonic_ns() - self.origin


def _wait_for(condition: Callable[[], bool], patience: float = 2.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a process did not stop within two seconds of SIGSTOP")
        time.sleep(0.0005)
