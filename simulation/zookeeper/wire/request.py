"""A client's request on its way through a server."""

from typing import Any

Identities = tuple[tuple[str, str], ...]
"""What a connection has proved to be: pairs of scheme and id, ("ip", address) first."""


class Request:
    """What was asked, by whom.

    Args:
        session: id, signed 64 bits.
        cxid: the client's xid.
        type: operation code (``opcodes``).
        body: the request's record as it came, without the header.
        identities: of the connection.
        connection: this server's connection to the client, to which the reply goes; None if it
            came from another server, or from this server itself.
        owner: which server the client is connected to, as the leader sees it: any object that
            is compared by identity (see "session moved"); None: not checked.
        arrived: when it did, in the world's nanoseconds; for the statistics of latency.
    """

    __slots__ = ("arrived", "body", "connection", "cxid", "identities", "owner", "session", "type")

    def __init__(
        self,
        session: int,
        cxid: int,
        type: int,  # noqa: A002 - ZooKeeper's name
        body: bytes,
        identities: Identities = (),
        connection: Any = None,
        owner: object = None,
        arrived: int = 0,
    ) -> None:
        self.session = session
        self.cxid = cxid
        self.type = type
        self.body = body
        self.identities = identities
        self.connection = connection
        self.owner = owner
        self.arrived = arrived
