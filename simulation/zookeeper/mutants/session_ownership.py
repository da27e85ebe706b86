"""Servers that mistake whose a session is, or who may still use it."""

from typing import TYPE_CHECKING, Any

from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.quorum.learner import WAITS, Learner
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.commit_processor import CommitProcessor
from rumpus.simulation.zookeeper.serving.server import ZooKeeperServer
from rumpus.simulation.zookeeper.serving.session_tracker import SessionTracker
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.wire.error_codes import OK, SESSION_EXPIRED, SESSION_MOVED
from rumpus.simulation.zookeeper.wire.opcodes import CLOSE_SESSION
from rumpus.simulation.zookeeper.wire.request import Request

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer

SHARED = 0.2
"""The share of new sessions that get the id of the session before."""


class TakesAnyPassword(ClientConnection):
    """A client resumes a session whatever password it gives."""

    def _proves(self, session: int, given_password: bytes | None) -> bool:  # noqa: ARG002 - ignored
        return True


class IgnoresMoves(SessionTracker):
    """Requests are accepted through every server, wherever the session is now."""

    def check(self, session: int, owner: object) -> int:
        """Error code for a request; never that of a session that has moved."""
        code = super().check(session, owner)
        return OK if code == SESSION_MOVED else code


class ServesExpired(SessionTracker):
    """A leader accepts the writes that learners forward for a session that has ended."""

    def check(self, session: int, owner: object) -> int:
        """Error code for a request; never that of a session that has expired."""
        code = super().check(session, owner)
        return OK if code == SESSION_EXPIRED else code


class SharesIds(ZooKeeperServer):
    """One new session in five gets the id of the one that this server opened before it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._random = self.simulator.random(f"shared sessions of {self.process.name}").random

    def open_session(self, connection: ClientConnection, timeout: int) -> None:
        """Create a session, or join the connection to the last one."""
        former = self._next_session - 1
        if former in self.database.sessions and self._random() < SHARED:
            self._next_session = former
        super().open_session(connection, timeout)


class ClosesOnlyConnections(Learner):
    """A learner answers closeSession itself: the leader lets the session expire."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self._commits = CommitProcessor(self._read, peer.finish, WAITS - {CLOSE_SESSION})

    def submit(self, request: Request) -> None:
        """Answer a closeSession after the earlier requests of its session."""
        if request.type != CLOSE_SESSION:
            super().submit(request)
        elif not self.over:
            self._commits.submit(request)

    def _read(self, request: Request) -> None:
        if request.type != CLOSE_SESSION:
            super()._read(request)
            return
        self.server.refuse(request, OK)
        request.connection.close()


MUTANTS = (
    ServerMutant(
        "unchecked-password",
        "resume a session for a client with a wrong password",
        GUIDE + "ZooKeeper Sessions: any server can validate the password of a session",
        "ephemeral",
        "ephemeral",
        frozenset({"unproven-session"}),
        {ClientConnection: TakesAnyPassword},
    ),
    ServerMutant(
        "unmoved-sessions",
        "accept writes from a connection to a server that the session has left",
        GUIDE + "ZooKeeper Sessions: SessionMovedException; ZOOKEEPER-417 (stray message)",
        "register",
        "linearizable",
        frozenset({"moved-session"}),
        {SessionTracker: IgnoresMoves},
    ),
    ServerMutant(
        "writes-after-expiry",
        "accept a write that reaches the leader after its session has ended",
        "ZOOKEEPER-1208 (ephemeral node not removed after the client session is long gone)",
        "ephemeral",
        "ephemeral",
        frozenset(),
        {SessionTracker: ServesExpired},
        gap="a write must be on its way from a follower just when its session expires",
    ),
    ServerMutant(
        "shared-session-ids",
        "give one new session in five the id of the session before",
        GUIDE + "ZooKeeper Sessions: ZooKeeper creates a session as a 64-bit number for a client",
        "ephemeral",
        "ephemeral",
        frozenset({"unproven-session"}),
        {ZooKeeperServer: SharesIds},
    ),
    ServerMutant(
        "idle-close",
        "answer the close of a session on a follower without asking the leader",
        "close of the API: the ephemeral nodes of the session are removed",
        "ephemeral",
        "ephemeral",
        frozenset({"late-expiry"}),
        {Learner: ClosesOnlyConnections},
    ),
)
