"""Servers that answer with an older state than they may."""

from typing import TYPE_CHECKING

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
    """A learner's sync asks no leader."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._commits = CommitProcessor(self._read, peer.finish)

    def submit(self, request: Request) -> None:
        """Answer a sync as a read: behind what its session has asked before, and no later."""
        if request.type != opcodes.SYNC:
            super().submit(request)
        elif not self.over:
            self._commits.submit(request)


class RevalidatesItself(Learner):
    """A learner lets a session go on that it knows, and does not ask the leader.

    With the leader's answer the learner would get all that the leader had committed before it.
    """

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:  # noqa: ARG002 - as it was
        """Answer at once."""
        connection.answer_handshake(valid=session in self.database.sessions)


class TakesAnyClient(ClientConnection):
    """A server serves clients that have seen more than it has applied."""

    def _is_ahead(self, last_zxid_seen: int) -> bool:  # noqa: ARG002 - nobody is
        return False
