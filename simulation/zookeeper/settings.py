"""The configuration of a server: settings of ``zoo.cfg`` and system properties."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

Part = TypeVar("Part")


@dataclass(frozen=True)
class Member:
    """One server of an ensemble: a line ``server.N=host:quorum:election:role;[host:]client``."""

    server_id: int
    host: str
    quorum_port: int = 2888
    election_port: int = 3888
    role: Literal["participant", "observer"] = "participant"
    client_port: int = 2181
    client_host: str = "0.0.0.0"  # noqa: S104 - what ZooKeeper shows if no host is given

    def __str__(self) -> str:
        """The line in ``zoo.cfg``, in full."""
        return (
            f"server.{self.server_id}={self.host}:{self.quorum_port}:{self.election_port}"
            f":{self.role};{self.client_host}:{self.client_port}"
        )


@dataclass(frozen=True)
class Settings:
    """Settings of one server; names and defaults are ZooKeeper's, times in milliseconds.

    Args:
        server_id: ``myid``; 1 for a standalone server.
        members: the whole ensemble; empty for a standalone server.
        most_owed: bytes that a client may leave unread before its further requests wait; None for
            no bound, as ZooKeeper has none. Servers for real clients have one.
        most_owed_in_all: bytes that all clients of this server together may be owed, apart from a
            little for each, before requests wait (`serving.owed_answers`); None for no bound.
        bugs: known bugs of 3.8.0 in the server (``simulation.zookeeper.bugs``); none by default.
        parts: standard class to the mutant's class that replaces it
            (``simulation.zookeeper.mutants``); none by default.
    """

    server_id: int = 1
    members: tuple[Member, ...] = ()
    host: str = "zk1"
    client_port: int = 2181
    tick_time: int = 2000
    init_limit: int = 10
    sync_limit: int = 5
    min_session_timeout: int | None = None
    max_session_timeout: int | None = None
    max_buffer: int = 0xFFFFF
    four_letter_words: frozenset[str] = frozenset({"srvr"})
    read_only_mode: bool = False
    extended_types: bool = False
    reconfig: bool = False
    skip_acl: bool = False
    super_digest: str | None = None
    max_client_connections: int = 60
    global_outstanding_limit: int = 1000
    snap_count: int = 100_000
    container_check_interval: int = 60_000
    container_max_per_minute: int = 10_000
    most_owed: int | None = None
    most_owed_in_all: int | None = None
    bugs: frozenset[str] = field(default_factory=frozenset)
    parts: Mapping[type, type] = field(default_factory=dict)

    @property
    def shortest_session(self) -> int:
        """Lower bound of session timeouts."""
        return 2 * self.tick_time if self.min_session_timeout is None else self.min_session_timeout

    @property
    def longest_session(self) -> int:
        """Upper bound of session timeouts."""
        return 20 * self.tick_time if self.max_session_timeout is None else self.max_session_timeout

    def part(self, standard: type[Part]) -> type[Part]:
        """The class to use for a standard one: itself, or the mutant's replacement for it."""
        return self.parts.get(standard, standard)
