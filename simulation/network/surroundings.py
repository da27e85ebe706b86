"""The interfaces between a network and its connections, listeners and connection attempts."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process
    from rumpus.simulation.network.gate import Gate
    from rumpus.simulation.network.listener import Listener
    from rumpus.simulation.network.path import Path


class Socket(Protocol):
    """A listener, an attempt to connect or a connection; it ends with its process."""

    def end_with_process(self) -> None:
        """The process has died; its kernel closes the socket, and the other side learns of it."""

    def vanish(self) -> None:
        """The host has lost power; the other side learns nothing."""


class Surroundings(Protocol):
    """What connections need of their network. Addresses are pairs of host name and port."""

    chance: Callable[[], float]
    """Random numbers of this network."""

    def path(self, source: str, target: str) -> "Path":
        """The path from one host to another."""

    def is_down(self, host: str) -> bool:
        """Whether a host has crashed and not come back."""

    def listener(self, address: tuple[str, int]) -> "Listener | None":
        """The listener at an address, if any."""

    def gate_of(self, source_host: str, target_address: tuple[str, int]) -> "Gate | None":
        """The gate in the connections from a host to an address, if there is one."""

    def remember_socket(self, process: "Process", socket: Socket) -> None:
        """Have a socket end with its process."""

    def forget_socket(self, process: "Process", socket: Socket) -> None:
        """The socket is closed."""
