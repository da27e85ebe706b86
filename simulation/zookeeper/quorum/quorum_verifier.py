"""The members of an ensemble, its voters, and what a quorum is."""

from collections.abc import Iterable
from typing import Protocol

from rumpus.simulation.zookeeper.settings import Member


class QuorumVerifier:
    """One configuration of an ensemble: majorities of its participants (``QuorumMaj``).

    Args:
        members: in the order in which ``text`` lists them.
        version: the zxid of the reconfig transaction; 0 for the configuration in ``zoo.cfg``.
    """

    def __init__(self, members: Iterable[Member], version: int = 0) -> None:
        self.members = {member.server_id: member for member in members}
        """All servers by id."""
        self.version = version
        self.voters = {
            server_id: member
            for server_id, member in self.members.items()
            if member.role == "participant"
        }
        self.mask = sum(1 << voter for voter in self.voters)
        """A bit for each voter, by its id."""
        self.majority = len(self.voters) // 2 + 1
        """How many voters are a quorum."""

    @property
    def current(self) -> "QuorumVerifier":
        """The configuration in force: this one."""
        return self

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these servers (each given once) include a majority of the voters."""
        voters = self.voters
        return sum(server_id in voters for server_id in server_ids) >= self.majority

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set include a majority of the voters."""
        return (mask & self.mask).bit_count() >= self.majority

    def text(self) -> str:
        """The data of ``/zookeeper/config``: a line for each server, then the version."""
        return "\n".join([*map(str, self.members.values()), f"version={self.version:x}"])


class JointVerifier:
    """Two configurations at once: one in force, and the next one, which is not committed yet.

    A quorum must be one in both configurations (``SyncedLearnerTracker``). Members and voters are
    those of either.
    """

    def __init__(self, current: QuorumVerifier, following: QuorumVerifier) -> None:
        self.current = current
        """The configuration in force."""
        self.following = following
        self.version = current.version
        self.members = {**following.members, **current.members}
        self.voters = {**following.voters, **current.voters}

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these servers are a quorum in both configurations."""
        ids = list(server_ids)
        return self.current.contains_quorum(ids) and self.following.contains_quorum(ids)

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set are a quorum in both configurations."""
        return self.current.is_quorum(mask) and self.following.is_quorum(mask)


class Verifier(Protocol):
    """What elections and leaders use: one configuration, or two during a reconfiguration."""

    version: int

    @property
    def current(self) -> QuorumVerifier:
        """The configuration in force."""

    @property
    def members(self) -> dict[int, Member]:
        """All servers by id."""

    @property
    def voters(self) -> dict[int, Member]:
        """The voting members by id."""

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these servers (each given once) are a quorum."""

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set are a quorum."""
