"""Who belongs to an ensemble, who of them votes, and what a quorum is."""

from collections.abc import Iterable
from typing import Protocol

from rumpus.simulation.zookeeper.settings import Member


class QuorumVerifier:
    """One configuration of an ensemble: majorities of its participants (``QuorumMaj``).

    Args:
        members: in the order in which they are to be shown.
        version: the zxid that brought the configuration, 0 for that of the configuration file.
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
        """So many voters are a quorum."""

    @property
    def current(self) -> "QuorumVerifier":
        """The configuration in force: this one."""
        return self

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these (each given once) are a majority of the voters."""
        voters = self.voters
        return sum(server_id in voters for server_id in server_ids) >= self.majority

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set are a majority of the voters."""
        return (mask & self.mask).bit_count() >= self.majority

    def text(self) -> str:
        """What stands in ``/zookeeper/config``: a line for each server, then the version."""
        return "\n".join([*map(str, self.members.values()), f"version={self.version:x}"])


class JointVerifier:
    """Two configurations at once: one in force, and the next one, which is not committed yet.

    A quorum is one of both (``SyncedLearnerTracker``). Everything else is of either.
    """

    def __init__(self, current: QuorumVerifier, following: QuorumVerifier) -> None:
        self.current = current
        """The configuration in force."""
        self.following = following
        self.version = current.version
        self.members = {**following.members, **current.members}
        self.voters = {**following.voters, **current.voters}

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these are a quorum of both."""
        ids = list(server_ids)
        return self.current.contains_quorum(ids) and self.following.contains_quorum(ids)

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set are a quorum of both."""
        return self.current.is_quorum(mask) and self.following.is_quorum(mask)


class Verifier(Protocol):
    """What elections and leaders ask: one configuration, or two at once."""

    version: int

    @property
    def current(self) -> QuorumVerifier:
        """The configuration in force."""

    @property
    def members(self) -> dict[int, Member]:
        """All servers by id."""

    @property
    def voters(self) -> dict[int, Member]:
        """Those of them who vote."""

    def contains_quorum(self, server_ids: Iterable[int]) -> bool:
        """Whether these (each given once) are a quorum."""

    def is_quorum(self, mask: int) -> bool:
        """Whether the servers whose bits are set are a quorum."""
