"""What differs from one kind of server to another, where servers run in containers.

A system is a kind of server, and how many of them there are. A module ``*_server`` of this folder
declares the systems that are made of its kind as ``SYSTEMS``, by their names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from rumpus.checker.servers.lease_log import Lease

Addresses = Sequence[tuple[str, int]]
"""Host and port of each of a node's ports, in the order of ``ServerKind.ports``."""


class Answer(NamedTuple):
    """What a server says of itself.

    ``serves``: whether it takes clients' requests. ``leads``: whether it takes itself for the
    leader (or primary). ``rank``: of several that do, the one with the highest is right.
    """

    serves: bool
    leads: bool = False
    rank: int = 0


class LeaseLog(NamedTuple):
    """Which of a server's files tells of leases.

    ``place``: the file, in the node's folder of a run. ``read``: reads it; raises OSError and
    ValueError. ``everywhere``: whether what ends, ends on all servers, so that those which lag or
    were dead learn it later.
    """

    place: str
    read: Callable[[Path], list[Lease]]
    everywhere: bool = False


class ServerKind(Protocol):
    """How servers of a kind are started and asked."""

    @property
    def image(self) -> str:
        """The folder of ``docker/`` that their image is built from."""

    @property
    def ports(self) -> Mapping[str, int]:
        """The ports that clients need, by the name of the service; that of the first is empty."""

    @property
    def elects(self) -> bool:
        """Whether the servers have a leader."""

    @property
    def clock_command(self) -> str:
        """The command of their image that sets a server's wall clock; empty: it has none.

        Its argument is by how many whole seconds the clock is to be ahead of the host's.
        """

    @property
    def lease_log(self) -> LeaseLog | None:
        """The file that tells of leases; None if none does."""

    def wall_clock(self, addresses: Addresses) -> float | None:
        """What a server's wall clock shows, in seconds; None if it does not answer."""

    def environment(self, names: Sequence[str], name: str) -> dict[str, str]:
        """The environment variables of a node's container."""

    def command(self, names: Sequence[str], name: str) -> list[str]:
        """The arguments of the image's entry point; none for those that it has itself."""

    def ask(self, addresses: Addresses) -> Answer | None:
        """What a server answers within a second; None if it does not."""

    def statistics(self, addresses: Addresses) -> Mapping[str, str]:
        """What a server counts, as files that a run keeps: name -> text; none if it is silent."""

    def data(self, environment: Mapping[str, str]) -> Mapping[PurePosixPath, str]:
        """The folders of a container that a run keeps, and where: a folder of the node's.

        Args:
            environment: the container's environment variables, those of its image included.
        """


@dataclass(frozen=True)
class System:
    """A system under test.

    Args:
        summary: what it is, in words.
        nodes: how many servers it has unless told otherwise.
        server: makes its kind of server, given a tick in milliseconds.
        independent: whether the servers know nothing of each other, so that a grant takes a
            majority of them.
    """

    summary: str
    nodes: int
    server: Callable[[int], ServerKind]
    independent: bool = False
