"""The interface between a server and its role: leader, follower, standalone, and so on."""

from typing import Literal, Protocol

from rumpus.simulation.zookeeper.serving.session_tracker import Sessions
from rumpus.simulation.zookeeper.wire.request import Request

Mode = Literal["standalone", "leader", "follower", "observer", "read-only"]


class Handshake(Protocol):
    """The connection of a client that wants to resume its session."""

    def answer_handshake(self, *, valid: bool) -> None:
        """Tell the client that its session is valid; or that it has expired, and then close.

        Does nothing if the connection has been closed.
        """

    def close(self) -> None:
        """Close the connection without an answer: the client tries another server."""


class Role(Protocol):
    """Orders the requests of a server while it serves clients."""

    mode: Mode

    @property
    def sessions(self) -> Sessions:
        """The sessions; ``touch`` is called for every request of a client before ``submit``.

        If it returns false, the request is dropped.
        """

    def submit(self, request: Request) -> None:
        """Process a request of a client of this server, or of the server itself.

        The requests of a connection are submitted in the order of their arrival, first
        createSession, whose body is the negotiated timeout. For each one, unless the role ends
        before, the role calls ``server.finish(request, entry)`` once, in the same order for each
        connection: with the committed entry for writes, with None for reads and syncs.
        """

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """A client with the right password asks to resume its session on this server.

        The role checks whether the session is valid, touches it, makes this server its owner,
        and answers the handshake, now or later.
        """

    def statistics(self) -> dict[str, int | str]:
        """The role's values in ``mntr``: names without ``zk_``, in the order of the output."""
