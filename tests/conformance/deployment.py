"""What the checks need of servers, wherever they run: in containers or in a simulated world."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from rumpus.conformance.channel import Channel, Clock


class Server(Protocol):
    """One server that can be reached."""

    clock: Clock
    tick_ms: int

    def open(self) -> Channel:
        """A new connection.

        Raises:
            OSError: refused.
        """


class Deployment(Protocol):
    """Servers under the control of the test: nodes "n1" to "nN"; one node is standalone.

    Args of the constructors: how many nodes, their tick in milliseconds, and settings of the
    list in `Options`.
    """

    kind: str
    """"docker" or "simulated"."""
    nodes: tuple[str, ...]
    clock: Clock

    def server(self, node: str = "n1") -> Server:
        """A node's client port."""

    def start(self, nodes: Iterable[str] | None = None) -> None:
        """Start nodes that do not run (all of them by default); does not wait for service."""

    def kill(self, node: str) -> None:
        """End a server at once, as kill -9 does; a dead one stays dead."""

    def pause(self, node: str) -> None:
        """Stop a server's time, as SIGSTOP does."""

    def resume(self, node: str) -> None:
        """Let a paused server go on."""

    def running(self, node: str) -> bool:
        """Whether the server's process lives."""

    def partition(self, grudge: Mapping[str, frozenset[str]]) -> None:
        """Let each node drop all packets from the nodes it bears a grudge against."""

    def heal(self) -> None:
        """Let every packet pass again."""

    def files(self, node: str) -> dict[str, bytes]:
        """The files in the node's ``version-2`` directories."""

    def write_file(self, node: str, name: str, content: bytes) -> None:
        """Replace a file of a dead node."""

    def tear_down(self) -> None:
        """Remove everything."""
