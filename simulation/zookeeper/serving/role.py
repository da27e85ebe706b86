"""What a server and its clients' connections expect of a role: leader, follower, standalone ..."""

from typing import Literal, Protocol

from rumpus.simulation.zookeeper.serving.session_tracker import Sessions
from rumpus.simulation.zookeeper.wire.request import Request

Mode = Literal["standalone", "leader", "follower", "observer", "read-only"]


class Handshake(Protocol):
    """The connection of a client that wants to resume its session."""

    def answer_handshake(self, *, valid: bool) -> None:
        """Tell the client that its session is alive; or that it has expired, and then close.

        Nothing happens if the connection has been closed.
        """

    def close(self) -> None:
        """Leave the client without an answer: it tries another server."""


class Role(Protocol):
    """How a server orders requests while it serves clients."""

    mode: Mode

    @property
    def sessions(self) -> Sessions:
        """``touch`` is called for every request of a client before ``submit``.

        A request whose session it refuses is dropped.
        """

    def submit(self, request: Request) -> None:
        """Take a request of this server's client, or of the server itself.

        Requests of a connection come in the order in which they arrived, createSession (its
        body the negotiated timeout) first. For each, unless the role ends before, the role calls
        ``server.finish(request, entry)`` once, in this order within a connection: with the
        committed entry for what went through the log, with None for reads and syncs.
        """

    def reattach(self, connection: Handshake, session: int, timeout: int) -> None:
        """A client whose password is right wants to resume its session here.

        The role finds out whether the session is alive, touches it, makes this server its owner,
        and answers the handshake, now or later.
        """

    def statistics(self) -> dict[str, int | str]:
        """What the role adds to ``mntr``: names without ``zk_``, in their order."""
