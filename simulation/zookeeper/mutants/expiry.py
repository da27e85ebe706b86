"""Servers that end sessions at the wrong time; clients are told the right timeout."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.zookeeper.mutants.server_mutant import GUIDE, ServerMutant
from rumpus.simulation.zookeeper.quorum.learner import Learner
from rumpus.simulation.zookeeper.serving.client_connection import ClientConnection
from rumpus.simulation.zookeeper.serving.session_tracker import (
    ExpiryQueue,
    LearnerSessionTracker,
    SessionTracker,
)
from rumpus.simulation.zookeeper.settings import Member

if TYPE_CHECKING:
    from rumpus.simulation.zookeeper.quorum.quorum_peer import QuorumPeer

LATENESS = 5_000
"""Milliseconds by which a session that ends late outlives its timeout."""
NEVER = 3_600_000
"""Milliseconds: longer than any run."""


class _LateQueue(ExpiryQueue[int]):
    def update(self, element: int, timeout: int) -> None:
        super().update(element, timeout + LATENESS)


class _EarlyQueue(ExpiryQueue[int]):
    def update(self, element: int, timeout: int) -> None:
        super().update(element, timeout // 2)


class ExpiresLate(SessionTracker):
    """A session ends 5 s after its timeout, or a bucket later."""

    def __init__(
        self,
        process: Process,
        tick_time: int,
        expire: Callable[[int], object],
        unknown: int = -12,
    ) -> None:
        super().__init__(process, tick_time, expire, unknown)
        self._queue = _LateQueue(process, tick_time, self._expired)


class ExpiresEarly(SessionTracker):
    """A session ends at half its timeout, or a bucket later."""

    def __init__(
        self,
        process: Process,
        tick_time: int,
        expire: Callable[[int], object],
        unknown: int = -12,
    ) -> None:
        super().__init__(process, tick_time, expire, unknown)
        self._queue = _EarlyQueue(process, tick_time, self._expired)


class KeepsInheritedSessions(SessionTracker):
    """The timeouts of the sessions that a new leader finds begin with their next request."""

    def track_all(self, sessions: Mapping[int, int]) -> None:
        """Track the sessions of the database; they do not expire before they are touched."""
        super().track_all(sessions)
        for session in sessions:
            self._queue.update(session, NEVER)


class ClosesLostSessions(ClientConnection):
    """A session ends when its client closes the connection."""

    def eof_received(self) -> None:
        """The client has closed its end."""
        if self.session and not self.closed:
            self.server.close_session(self.session)
        super().eof_received()

    def connection_lost(self, error: OSError | None) -> None:
        """The connection is lost."""
        if self.session and not self.closed:
            self.server.close_session(self.session)
        super().connection_lost(error)


class _ReportsSome(LearnerSessionTracker):
    def take_touched(self) -> dict[int, int]:
        """Sessions active since the last call; not those whose ids are multiples of three."""
        touched = super().take_touched()
        return {session: timeout for session, timeout in touched.items() if session % 3}


class ReportsSomeSessions(Learner):
    """A learner does not tell the leader of one active session in three."""

    def __init__(self, peer: "QuorumPeer", leader: Member) -> None:
        super().__init__(peer, leader)
        self.sessions = _ReportsSome(self._timeouts)


MUTANTS = (
    ServerMutant(
        "late-expiry",
        "end a session 5 s after its timeout",
        GUIDE + "ZooKeeper Sessions: expiration is managed by the cluster, by the timeout",
        "ephemeral",
        "ephemeral",
        frozenset({"late-expiry"}),
        {SessionTracker: ExpiresLate},
    ),
    ServerMutant(
        "early-expiry",
        "end a session at half its negotiated timeout",
        GUIDE + "ZooKeeper Sessions: expiration is managed by the cluster, by the timeout",
        "ephemeral",
        "ephemeral",
        frozenset({"early-expiry"}),
        {SessionTracker: ExpiresEarly},
    ),
    ServerMutant(
        "unexpired-after-election",
        "never end a session whose client does not come back after a change of the leader",
        GUIDE + "ZooKeeper Sessions: the cluster expires a session that it does not hear from",
        "ephemeral",
        "ephemeral",
        frozenset({"late-expiry"}),
        {SessionTracker: KeepsInheritedSessions},
    ),
    ServerMutant(
        "close-on-disconnect",
        "end a session when its connection is lost",
        GUIDE + "ZooKeeper Sessions: a client reconnects to its session within the timeout",
        "ephemeral",
        "ephemeral",
        frozenset({"early-expiry"}),
        {ClientConnection: ClosesLostSessions},
    ),
    ServerMutant(
        "unreported-sessions",
        "let one session in three expire on a follower though its client is heard of",
        GUIDE + "ZooKeeper Sessions: the session is kept alive by requests of the client",
        "ephemeral",
        "ephemeral",
        frozenset({"early-expiry"}),
        {Learner: ReportsSomeSessions},
    ),
)
