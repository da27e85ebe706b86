"""The clients of a run as the driver sees them: processes that are sent commands and report back.

Nothing here has a clock or I/O, so that real and simulated processes share it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rumpus.harness.clients.clients import Clients
from rumpus.harness.clients.handlers import HANDLERS
from rumpus.harness.clients.messages import Command, Report
from rumpus.recipes.servers import ZOOKEEPER


class WorkerCrash(RuntimeError):  # noqa: N818 - says what it is
    """A client's process ended although nobody killed it; the message says where to look."""


CLIENT_KILLED = "the client was killed"
"""The error of an operation that was open when its client's process was killed."""


@dataclass(frozen=True)
class ClientSpec:
    """What the clients run.

    ``build`` is ``module:function`` (see ``worker.Assignment``). ``library`` is a directory that
    has the kazoo of the clients, and what it needs; None: the installed one. ``handler`` is one of
    ``handlers.HANDLERS``. ``system`` says what the servers are: with ZooKeeper's a client has a
    kazoo client, with others their addresses. ``image`` is the folder of ``docker/`` with the
    image whose containers are the clients; empty: they are processes of Python. ``patched`` are
    modules whose source is not what their files say, in the simulation: name -> source.
    """

    build: str
    options: Mapping[str, Any] = field(default_factory=dict)
    session_timeout: float = 2.0
    library: Path | None = None
    handler: str = HANDLERS[0]
    system: str = ZOOKEEPER
    image: str = ""
    patched: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exited:
    """A client's process was killed."""

    client: int


@dataclass(frozen=True)
class Started:
    """A client's process was started again and waits to be opened."""

    client: int


class Workers(Clients, Protocol):
    """Starts, freezes, kills and restarts the clients' processes; carries their messages.

    Sending and receiving belong to one thread (the driver's). The methods of
    ``harness.clients.clients.Clients`` may be called from another; what they did reaches the driver
    as a message in its mailbox: a session ``Record``, or ``Exited`` / ``Started`` when a
    process ended or started.
    """

    def start(self) -> None:
        """Start every process. They wait for ``Open``.

        Raises:
            EnvironmentRefusal: a process cannot be started.
        """

    def stream(self, client: int) -> Any:
        """The channel that the driver's mailbox is to watch for a client's messages."""

    def send(self, client: int, command: Command) -> None:
        """Send a command. For a dead client it is dropped: the death is reported by itself."""

    def receive(self, client: int) -> list[Report] | None:
        """Messages that have arrived; None when the channel has ended."""

    def ready(self, client: int) -> None:
        """Tell whoever waits for a restart that the client is open."""

    def forget(self, client: int) -> None:
        """Be done with a process that is gone; only now may the client be started again."""

    def killed_at(self, client: int) -> int | None:
        """When a process killed by ``kill`` was seen to be gone; None before that."""

    def kill_called(self, client: int) -> int | None:
        """When ``kill`` was called on the process: it lived until then; None if it was not.

        None in the simulation, too, where no time passes between this and ``killed_at``.
        """

    def killed(self, client: int) -> bool:
        """Whether ``kill`` was called on the process, whether it is gone already or not."""

    def stop(self) -> None:
        """End every process."""
