"""What connections, and attempts to connect, ask of the network that they belong to."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process
    from rumpus.simulation.network.gate import Gate
    from rumpus.simulation.network.listener import Listener
    from rumpus.simulation.network.path import Path


class Socket(Protocol):
    """What ends when its process does: a listener, an attempt to connect, a connection."""

    def end_with_process(self) -> None:
        """The process has died; its kernel says so to the other side."""

    def vanish(self) -> None:
        """The host has lost power; the other side learns nothing."""


class Surroundings(Protocol):
    """A network as its connections see it. Addresses are pairs of host name and port."""

    chance: Callable[[], float]
    """Random numbers of this network."""

    def path(self, source: str, target: str) -> "Path":
        """The way from one host to another."""

    def is_down(self, host: str) -> bool:
        """Whether a host has crashed and not come back."""

    def listener(self, address: tuple[str, int]) -> "Listener | None":
        """Who listens at an address."""

    def gate_of(self, source_host: str, target_address: tuple[str, int]) -> "Gate | None":
        """The gate in the connections from a host to an address, if there is one."""

    def remember_socket(self, process: "Process", socket: Socket) -> None:
        """Have a socket end with its process."""

    def forget_socket(self, process: "Process", socket: Socket) -> None:
        """The socket is closed."""
