"""What servers for tests of applications can do, whether they are simulated or real."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rumpus.harness.ensemble import NodeState

SYSTEM = "/zookeeper"


@dataclass(frozen=True)
class Znode:
    """One znode of a dump.

    Attributes:
        data: its data; None if the client has sent null.
        ephemeral_owner: the id of the session that it belongs to; None if it is not ephemeral.
    """

    data: bytes | None
    ephemeral_owner: int | None = None


@dataclass(frozen=True)
class Session:
    """One session of a dump.

    Attributes:
        timeout: its negotiated timeout in seconds; None if no server tells it.
        node: the server that its client is connected to; None if it is not connected.
        ephemerals: the paths of its ephemeral znodes, in order.
    """

    timeout: float | None
    node: str | None
    ephemerals: Sequence[str] = ()


@dataclass(frozen=True)
class Dump:
    """What the servers hold.

    Attributes:
        znodes: path -> znode, in order of paths, without ``/`` and ``/zookeeper``.
        sessions: id -> session, in order of ids.
    """

    znodes: Mapping[str, Znode] = field(default_factory=dict)
    sessions: Mapping[int, Session] = field(default_factory=dict)


class DroppedReply(Protocol):
    """A reply that is to be lost."""

    @property
    def happened(self) -> bool:
        """Whether it has been lost."""

    def withdraw(self) -> None:
        """Let the reply pass, if it has not been lost yet."""


class Servers(Protocol):
    """Servers that have been started. All methods may be called from any thread.

    Nodes that are passed to methods exist.
    """

    kind: str
    """``sim`` or ``docker``."""

    @property
    def nodes(self) -> Sequence[str]:
        """Names of the servers, ``n1`` and so on, in order of their ids."""

    @property
    def voters(self) -> Sequence[str]:
        """Those that vote: all but observers."""

    @property
    def addresses(self) -> Mapping[str, tuple[str, int]]:
        """Node -> host and port where clients reach it."""

    def state(self, node: str) -> NodeState:
        """What its process is doing."""

    def serves(self, node: str) -> bool:
        """Whether it serves clients as part of a quorum."""

    def leader(self) -> str | None:
        """The node that leads and serves; None if there is none now."""

    def zxid(self, node: str) -> int:
        """The last zxid that the node has applied; 0 if it does not tell."""

    def kill(self, node: str) -> None:
        """Kill it with SIGKILL. Its disk stays."""

    def restart(self, node: str) -> None:
        """Start it again on its disk, if it is dead; does not wait for it to serve."""

    def pause(self, node: str) -> None:
        """Freeze it. It is not dead."""

    def resume(self, node: str) -> None:
        """Let it go on, if it is paused."""

    def partition(self, side: Sequence[str]) -> None:
        """Drop all packets between these servers and the others."""

    def heal(self) -> None:
        """End the partition."""

    def expire(self, session: int, seconds: float) -> None:
        """End a session, and return once all servers that serve have noticed.

        Raises:
            UsageError: there is no such session.
            TimeoutError: it took longer, for want of a quorum for example.
        """

    def cut(self, session: int) -> bool:
        """Reset the connection of a session; whether there was one."""

    def drop_reply(self, request: str, number: int, session: int | None) -> DroppedReply:
        """Lose the reply to the n-th request of a kind from now on, and reset its connection.

        Raises:
            UsageError: that cannot be done here now.
        """

    def dump(self) -> Dump:
        """What the servers hold.

        Raises:
            TimeoutError: no server tells.
        """
