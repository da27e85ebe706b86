"""Servers whose clients may read an older state than ZooKeeper guarantees."""

from typing import TYPE_CHECKING

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.quorum.learner import Learner
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.commit_processor import CommitProcessor
from rumpus.simulation.zookeeper.serving.role import Handshake
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer


class AnswersSyncItself(Learner):
    """A learner answers a sync without asking the leader."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._commits = CommitProcessor(self._read, peer.finish)

    def submit(self, request: Request) -> None:
        """Answer a sync as if it were a read, after the earlier requests of its session."""
        if request.type != opcodes.SYNC:
            super().submit(request)
        elif not self.over:
            self._commits.submit(request)


class RevalidatesItself(Learner):
    """A learner resumes a session of its database without asking the leader.

    Before the leader's answer to REVALIDATE the learner would receive all earlier commits.
    """

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:  # noqa: ARG002 - not set anew
        """Answer at once."""
        connection.answer_handshake(valid=session in self.database.sessions)


class TakesAnyClient(ClientConnection):
    """A server accepts clients that have seen a zxid that it has not applied."""

    def _is_ahead(self, last_zxid_seen: int) -> bool:  # noqa: ARG002 - not checked
        return False


MUTANTS = (
    ServerMutant(
        "idle-sync",
        "answer a sync on a follower without asking the leader",
        GUIDE + "Consistency Guarantees; sync of the API",
        "register",
        "synced",
        frozenset({"stale-sync"}),
        {Learner: AnswersSyncItself},
    ),
    ServerMutant(
        "unchecked-zxid",
        "resume a session at a server that has not applied what its client has seen",
        GUIDE + "Consistency Guarantees: Single System Image",
        "register",
        "local",
        frozenset({"session-order", "wrong-answer"}),
        {ClientConnection: TakesAnyClient, Learner: RevalidatesItself},
    ),
)
