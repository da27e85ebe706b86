"""What the pools of real and of simulated processes have in common: kills and restarts."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rumpus.harness.clients.clients import ClientState
from rumpus.harness.clients.messages import Record
from rumpus.harness.clients.workers import ClientSpec, Exited, Started

RESTART_PATIENCE_S = 15.0
"""How long ``restart`` waits for the new process to be ready, in real or virtual seconds."""


class Flag(Protocol):
    """``threading.Event``, or what a simulated world has for it."""

    def set(self) -> None:
        """Release all that wait, now or later."""

    def wait(self, seconds: float, /) -> bool:
        """Wait until it is set, at most so long; whether it is."""


class Worker(Protocol):
    """One process."""

    killed: bool
    killed_at: int | None

    @property
    def ready(self) -> Flag:
        """Set when the client is open."""

    @property
    def forgotten(self) -> Flag:
        """Set when the driver is done with it (``forget``)."""

    def end(self) -> None:
        """Kill it; returns when it is gone."""


WorkerKind = TypeVar("WorkerKind", bound=Worker)


@dataclass(eq=False)
class RestartableWorkers(ABC, Generic[WorkerKind]):
    """Processes, one per client, that are killed and started again.

    Args:
        count: how many clients.
        spec: what they run.
        hosts: a client's connection string.
        logs: directory for ``c<n>.log``, and ``c<n>/`` with a client's files if it has any.
        notify: called with a message for the driver: a session ``Record``, or ``Exited`` /
            ``Started`` when a process ended or started.
        origin: what the monotonic clock said when the run's clock was 0, in ns.
    """

    count: int
    spec: ClientSpec
    _: KW_ONLY
    hosts: Callable[[int], str]
    logs: Path
    notify: Callable[[Record | Exited | Started], None]
    origin: int

    def __post_init__(self) -> None:
        """Begin without any process."""
        self._workers: dict[int, WorkerKind] = {}
        self._stopped = False

    def start(self) -> None:
        """Start every process. They wait for the command ``Open``.

        Raises:
            EnvironmentRefusal: a process cannot be started.
        """
        for client in range(self.count):
            self._start(client)

    def ready(self, client: int) -> None:
        """Tell whoever waits for a restart that the client is open."""
        self._workers[client].ready.set()

    def forget(self, client: int) -> None:
        """Be done with a process that is gone; only now may the client be started again."""
        self._workers[client].forgotten.set()

    def killed_at(self, client: int) -> int | None:
        """When a process killed by ``kill`` was seen to be gone; None before that."""
        return self._workers[client].killed_at

    def kill_called(self, client: int) -> int | None:  # noqa: ARG002 - for subclasses
        """When ``kill`` was called on the process; None where that is not told."""
        return None

    def killed(self, client: int) -> bool:
        """Whether ``kill`` was called on the process, whether it is gone already or not."""
        return self._workers[client].killed

    def kill(self, client: int) -> None:
        """Kill a client's process: its sockets are closed, its session lives until it expires."""
        worker = self._workers[client]
        if not worker.killed:
            worker.killed = True
            worker.end()
            # Only now: until it was gone, it may have done something and reported it.
            worker.killed_at = self._clock()
            self.notify(Exited(client))

    def restart(self, client: int, *, wait: bool = True) -> None:
        """Start a killed client again.

        Args:
            client: its number.
            wait: whether to wait until it is open.

        Raises:
            TimeoutError: it did not become ready in time.
        """
        if self.state(client) != "dead":
            return
        if not self._workers[client].forgotten.wait(RESTART_PATIENCE_S):
            raise TimeoutError(f"nobody took note of the end of client c{client}'s process")
        if not self._stopped:
            self._start(client)
        if self._stopped:
            return
        self.notify(Started(client))
        if wait and not self._workers[client].ready.wait(RESTART_PATIENCE_S):
            raise TimeoutError(
                f"client c{client} was started again but was not ready in {RESTART_PATIENCE_S} s"
            )

    @abstractmethod
    def state(self, client: int) -> ClientState:
        """What a client's process is doing."""

    @abstractmethod
    def _start(self, client: int) -> None:
        """Start a client's process, unless all have been stopped."""

    @abstractmethod
    def _clock(self) -> int:
        """The time of the run, in nanoseconds."""

    def _session_record(self, client: int, f: str, time_ns: int | None = None) -> None:
        """Tell the driver of a change to a process, now or at an earlier time."""
        time_ns = self._clock() if time_ns is None else time_ns
        self.notify(Record(time_ns, "session", "info", f, {"client": client}))
