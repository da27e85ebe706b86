"""A request as the chain of request processors of a server passes it on (``Request``)."""

from typing import Any

Identities = tuple[tuple[str, str], ...]
"""The authenticated ids of a connection: pairs of scheme and id, ("ip", address) first."""


class Request:
    """One request.

    Args:
        session: id, signed 64 bits.
        cxid: the client's xid.
        type: operation code (``opcodes``).
        body: the request's record as received, without the header.
        identities: the authenticated ids of the client's connection; none for requests that a
            server makes.
        connection: this server's connection to the client, which gets the reply; None if the
            request came from another server, or from this server itself.
        owner: a token of the server that the client is connected to. If it is not the token
            of the session's present owner, the request fails with SESSION_MOVED. None: no check.
        arrived: time of its arrival, in nanoseconds of the simulated clock, for latencies.
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
