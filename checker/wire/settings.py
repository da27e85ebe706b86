"""How the servers of a run are configured, as far as their promises depend on it."""

from typing import Annotated, Self

import msgspec

LONGEST_REQUEST = 0xFFFFF
"""``jute.maxbuffer`` by default: bytes of a request, without the length before it."""

_Bounded = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class ServerSettings(msgspec.Struct, frozen=True):
    """Settings of ZooKeeper's servers, under plain names.

    Args:
        shortest_session: ``minSessionTimeout``, in ms.
        longest_session: ``maxSessionTimeout``, in ms.
        longest_request: ``jute.maxbuffer``, in bytes.
        reconfigurable: ``reconfigEnabled``.
    """

    shortest_session: _Bounded
    longest_session: _Bounded
    longest_request: _Bounded = LONGEST_REQUEST
    reconfigurable: bool = False

    @classmethod
    def usual(cls, tick_ms: int) -> Self:
        """What servers have that are told nothing but their ``tickTime``, in ms."""
        return cls(2 * tick_ms, 20 * tick_ms)

    def granted(self, wanted: int) -> int:
        """The timeout (ms) that a server grants to a client that asks for one.

        Source: ``ZooKeeperServer.processConnectRequest``.
        """
        return min(max(wanted, self.shortest_session), self.longest_session)
