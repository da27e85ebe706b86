"""The clients of a run as containers, for clients that are not written in Python.

Each container shares the host's network, so that it reaches its links and the control process on
the loopback address. Its first process is the client's: what happens to the client's process
happens to the container. The process connects to a port that listens for it alone, and says a
secret. From then on it speaks as every client's process does (``harness.clients.messages``).
"""

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from docker.errors import APIError, NotFound
from docker.types import LogConfig

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.messages import Frames, frame
from rumpus.harness.clients.stream_workers import StreamWorker, StreamWorkers
from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.leftovers import labels
from rumpus.harness.ensemble import EnvironmentRefusal

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

LOOPBACK: Final = "127.0.0.1"

START_PATIENCE_S: Final = 30.0
"""How long a container may take until its process connects. On an idle machine it takes one."""

STALL_PATIENCE_S: Final = 4.0
"""How long a process may take to stop one of its threads. It takes some milliseconds."""

_LOOK_S: Final = 0.25
"""Seconds from one look to the next whether the container has ended, while it is waited for."""

_LAST_WORDS: Final = 15
"""How many lines of its output a refusal shows of a process that did not connect."""


class Hello(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """The first message of a container's process: its secret, and its monotonic clock in ns."""

    token: str
    clock: int


class _Door:
    """The port at which one client's process arrives, each time that it is started."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self.listener = socket.create_server((LOOPBACK, 0))
        self.listener.settimeout(_LOOK_S)

    @property
    def environment(self) -> dict[str, str]:
        """What the process has to know."""
        return {"RUMPUS_PORT": str(self.listener.getsockname()[1]), "RUMPUS_TOKEN": self.token}

    def admit(self) -> tuple[socket.socket, int] | None:
        """The channel of a process that connects now and says the secret, and its clock.

        None if nobody does.
        """
        try:
            stream, _ = self.listener.accept()
        except TimeoutError:
            return None
        frames: Frames[Hello] = Frames(Hello)
        stream.settimeout(START_PATIENCE_S)
        said: list[Hello] = []
        with contextlib.suppress(OSError, msgspec.DecodeError):
            while not said:
                data = stream.recv(4096)
                if not data:
                    break
                said = frames.feed(data)
        if not said or not secrets.compare_digest(said[0].token, self.token):
            stream.close()  # some other program of this host
            return None
        stream.settimeout(None)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return stream, said[0].clock


class Stall(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Stop a thread, and let the one that was stopped run. ``choice`` as for ``ClientThreads``."""

    choice: float


class Unstall(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """Let the thread run that was stopped, if there is one."""


class Stalled(msgspec.Struct, frozen=True, tag=True, tag_field="message"):
    """The answer to both: the name of the thread that is stopped; None if none is."""

    thread: str | None


class _ContainerWorker(StreamWorker):
    """The process of a container that runs.

    Args:
        container: the container.
        stream: its channel.
        staller: the channel of the thread that stops others.
    """

    def __init__(
        self, container: "Container", stream: socket.socket, staller: socket.socket
    ) -> None:
        super().__init__(stream)
        self._container = container
        self._staller = staller
        self._staller.settimeout(STALL_PATIENCE_S)
        self.stalled: str | None = None

    def stall(self, order: Stall | Unstall) -> None:
        """Stop a thread of the process, or let it run again; returns when that is done.

        Raises:
            OSError: the process has ended, or did not answer in time; it may be frozen. Then none
                of its threads is stopped any more, nor can be.
        """
        frames: Frames[Stalled] = Frames(Stalled)
        answers: list[Stalled] = []
        try:
            self._staller.sendall(frame(order))
            while not answers:
                data = self._staller.recv(4096)
                if not data:
                    raise ConnectionResetError("the client's process has ended")
                answers = frames.feed(data)
        except OSError:
            self._staller.close()
            self.stalled = None
            raise
        self.stalled = answers[0].thread

    def close(self) -> None:
        """Close both channels."""
        self.stream.close()
        self._staller.close()

    def state(self) -> ClientState:
        """What the engine says of the process."""
        try:
            self._container.reload()
            if self._container.status != "running":
                return "dead"
            listed = self._container.top(ps_args="-o pid,state")
        except NotFound:
            return "dead"
        except APIError:
            self._container.reload()  # it ended between the two requests
            if self._container.status == "running":
                raise
            return "dead"
        first = dict(zip(listed["Titles"], listed["Processes"][0], strict=True))
        return "paused" if first["S"].startswith("T") else "running"

    def freeze(self) -> None:
        """Send SIGSTOP."""
        self._container.kill("SIGSTOP")

    def unfreeze(self) -> None:
        """Send SIGCONT."""
        self._container.kill("SIGCONT")

    def end(self) -> None:
        """Kill the process with SIGKILL; returns when it is gone."""
        with contextlib.suppress(NotFound):
            if self.state() != "dead":
                self._container.kill("SIGKILL")
            self._container.wait()
        self._staller.close()
        self.stalled = None
        self.paused = False


@dataclass(eq=False)
class ContainerWorkers(StreamWorkers[_ContainerWorker]):
    """Containers, one per client.

    Implements ``harness.clients.workers.Workers`` and ``harness.simulated_faults.ClientThreads``.

    Args:
        run_id: the run's id, which the containers carry in their names and labels.
        image: the containers' image.
    """

    _: KW_ONLY
    run_id: str
    image: str

    def __post_init__(self) -> None:
        """Connect to the engine; no container is made yet."""
        super().__post_init__()
        self.threads = self
        self._engine: DockerClient = connect()
        self._doors: dict[int, _Door] = {}
        self._containers: dict[int, Container] = {}
        self._starting = threading.Lock()

    def start(self) -> None:
        """Start every container, all at the same time."""
        with ThreadPoolExecutor(self.count, thread_name_prefix="client-start") as pool:
            started = [pool.submit(self._launch, client) for client in range(self.count)]
            try:
                for each in started:
                    each.result()
            except BaseException:
                self._stopped = True  # nobody waits for the others any more
                raise

    def stop(self) -> None:
        """Keep what the processes have printed, and remove the containers."""
        self._stopped = True
        with self._starting, contextlib.closing(self._engine):
            for worker in self._workers.values():
                worker.close()
                worker.forgotten.set()
                worker.ready.set()
            for door in self._doors.values():
                door.listener.close()
            with refusals("removing the clients' containers"):
                for client, container in self._containers.items():
                    self._keep_log(client, container)
                    with contextlib.suppress(NotFound):
                        container.remove(force=True)
            self._containers.clear()
            self._workers.clear()

    def stall(self, client: int, choice: float) -> str:
        """Keep one of a client's threads from running; returns its name."""
        worker = self._workers[client]
        before = self._clock()
        worker.stall(Stall(choice))
        assert worker.stalled is not None, "a process has a main thread"
        self._session_record(client, "paused", before)
        return worker.stalled

    def unstall(self, client: int) -> None:
        """Let all threads of a client run again."""
        worker = self._workers[client]
        if worker.stalled is not None:
            worker.stall(Unstall())
            self._session_record(client, "resumed")

    def stalled(self, client: int) -> str | None:
        """The name of a client's thread that does not run; None if all do."""
        return self._workers[client].stalled

    def _start(self, client: int) -> None:
        with self._starting:
            if not self._stopped:
                self._launch(client)

    def _launch(self, client: int) -> None:
        """Start a client's container, made now if there is none, and wait for its process.

        Nothing is waited for any more once all have been stopped.
        """
        began = time.monotonic_ns()
        with refusals(f"starting client c{client}'s container"):
            if client not in self._containers:
                door = self._doors[client] = _Door()
                self._containers[client] = self._create(client, door.environment)
            container = self._containers[client]
            container.start()
        admitted = self._await(client, container)
        if admitted is None:
            return
        stream, staller, clock = admitted
        if not began <= clock <= time.monotonic_ns():
            stream.close()
            staller.close()
            raise EnvironmentRefusal(
                f"client c{client}'s container has another monotonic clock than this process, so "
                "its records cannot be ordered: run rumpus on the host of the Docker engine, "
                "outside a time namespace"
            )
        worker = _ContainerWorker(container, stream, staller)
        self._workers[client] = worker
        worker.assign(self._assignment(client))

    def _create(self, client: int, environment: Mapping[str, str]) -> "Container":
        return self._engine.containers.create(
            self.image,
            name=f"rumpus-{self.run_id}-c{client}",
            labels=labels(self.run_id),
            network_mode="host",
            environment=dict(environment),
            log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": "1g"}),
        )

    def _await(
        self, client: int, container: "Container"
    ) -> tuple[socket.socket, socket.socket, int] | None:
        """Both channels of a container's process, and its clock; None once all have been stopped.

        The process connects twice: for its client's commands, then for those that stop threads.

        Raises:
            EnvironmentRefusal: it ended, or did not connect in time.
        """
        deadline = time.monotonic() + START_PATIENCE_S
        arrived: list[tuple[socket.socket, int]] = []
        while time.monotonic() < deadline:
            if self._stopped:
                break
            if (admitted := self._doors[client].admit()) is not None:
                arrived.append(admitted)
            if len(arrived) == 2:
                (stream, clock), (staller, _) = arrived
                return stream, staller, clock
            container.reload()
            if container.status == "exited":
                break
        for stream, _ in arrived:
            stream.close()
        if self._stopped:
            return None
        said = container.logs(tail=_LAST_WORDS).decode(errors="replace").strip()
        raise EnvironmentRefusal(
            f"client c{client}'s container did not connect to {LOOPBACK} within "
            f"{START_PATIENCE_S:.0f} s; the engine must run on this host, with its network. "
            f"Its last words: {said or 'none'}"
        )

    def _keep_log(self, client: int, container: "Container") -> None:
        with contextlib.suppress(NotFound), (self.logs / f"c{client}.log").open("wb") as file:
            file.writelines(container.logs(stream=True, follow=False))
