"""Two-phase commit."""

from rumpus.recipes.two_phase_commit.transaction_nodes import (
    CoordinatedCommit,
    PeerCommit,
    VotedAlready,
)

__all__ = ["CoordinatedCommit", "PeerCommit", "VotedAlready"]
