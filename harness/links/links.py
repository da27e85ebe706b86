"""The clients' connections to the servers, as targets of faults.

Every client reaches every server through a link of its own, one for each (client, server).
Breaking a client's links is how a client is partitioned, without any privilege.

The last client is none of the workload's: it is the auditor, whose links carry the walks of the
servers' trees at the end (``harness.final_walk``). Nothing breaks them.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Literal, Protocol

import msgspec

from rumpus.harness.links.triggers import TriggerLinks

Cut = Literal["black-hole", "reset", "to-server", "to-client", "half-open", "lost-reply"]
"""How a link is broken.

``black-hole``: bytes vanish both ways, and so do hang-ups: neither side learns that the other
closed. Connections stay open; new ones are accepted, stay silent, and reach no server.
``reset``: connections are reset at once, and so is every new one.
``to-server`` / ``to-client``: only what goes in that direction vanishes. A new connection
reaches the server under ``to-client``, and none under ``to-server``.
``half-open``: the server's side is closed, the client's stays open and silent; new connections
as under ``black-hole``.
``lost-reply``: the next request that creates or sets something (or is a multi) passes, its reply
is swallowed and both sides are reset; with that the cut is over on all links that it was made on.
If the connection dies before the reply comes, the next such request is waited for. Other traffic
is untouched.
"""


Refusal = Literal["lasting", "once", "one-server"]
"""How the service refuses a session that is on its blacklist.

``lasting``: on every server, from now on: its connections are reset, and a client that asks for the
session is told that it has expired. The others are mistakes that a service may make. ``once``: only
the connections that it has now are reset. ``one-server``: only a server to which it has a
connection now refuses it.
"""


class WatchSeen(msgspec.Struct, frozen=True, tag="seen"):
    """A watch event that passed on its way to a client; ``time`` in monotonic nanoseconds.

    ``connection`` is the connection's number among the client's; ``shown`` is the
    highest zxid in the header of a reply that passed before the event on that connection.
    """

    time: int
    client: int
    event: Literal["created", "deleted", "changed", "child"]
    path: str
    connection: int
    shown: int


class WatchLeft(msgspec.Struct, frozen=True, tag="left"):
    """The reply to a read that set ("left") a watch; ``time`` in monotonic nanoseconds.

    ``zxid`` is that of the reply's header: the last transaction that the server had applied when
    the watch was set. ``kind`` is the read: ``children`` watches children, the others
    watch the node itself.
    """

    time: int
    client: int
    kind: Literal["data", "exists", "children"]
    path: str
    connection: int
    zxid: int


class WirePassed(msgspec.Struct, frozen=True):
    """How much of a client the wire's record has, with what is under way.

    ``requests`` counts handshakes, too; ``events`` are watch events that servers sent. ``until`` is
    when they were counted, in nanoseconds on the run's clock: what passed earlier is counted, and
    what passes later is not.
    """

    requests: int
    events: int
    until: int


class Links(Protocol):
    """All links of a run."""

    trigger_links: TriggerLinks | None
    """This object itself if triggers for single requests can be armed on it; else None."""

    sessions: bool
    """Whether clients keep a connection with a session, as ZooKeeper's do; else they connect when
    they need it."""

    def address(self, client: int, node: str) -> tuple[str, int]:
        """Host and port on which a client finds a server."""

    def hosts(self, client: int) -> str:
        """A client's connection string: every server by its link."""

    def places(self, client: int) -> str:
        """Every port of every server by its link, with names, as ``recipes.servers.Servers``."""

    def cut(self, client: int, how: Cut, nodes: Iterable[str] | None = None) -> None:
        """Break a client's links to some servers (all by default).

        Replaces an earlier cut of the same links, which is healed first; links to other
        servers stay as they are.
        """

    def refuse_session(self, session: int, how: Refusal = "lasting") -> None:
        """Refuse a session's traffic, heartbeats too, whichever client it is; it then expires.

        Healing does not end this: a session's id is never used again. To refuse a session a second
        time does nothing.
        """

    def delay(self, client: int, milliseconds: float, nodes: Iterable[str] | None = None) -> None:
        """Hold back every byte, each way, for this long. Order is kept; 0 ends it."""

    def delays(self, client: int) -> dict[str, float]:
        """By how many milliseconds a client's links are slow, node -> ms; only slow ones."""

    def heal(self, client: int | None = None) -> None:
        """Mend one client's links, or all: no cut, no delay.

        Bytes that vanished stay lost: every connection that swallowed bytes is reset.
        """

    def afflicted(self) -> AbstractSet[int]:
        """The clients whose links are cut, or about to be, not counting ``lost-reply``.

        Answered at once, without asking the links themselves.
        """

    def in_force(self, client: int) -> dict[str, str]:
        """The cuts on a client's links, node -> how; empty when none is cut."""

    def swallowed(self, client: int) -> int:
        """Bytes and connections that a client's links have refused so far.

        A cut that is in force makes this grow as soon as the client tries anything.
        """

    def connected_to(self, client: int) -> str | None:
        """The server to which the client has a connection with a session now.

        If there are several (one not yet hung up), that of the newest.
        """

    def last_answer(self, client: int) -> int | None:
        """When a reply last passed to the client, in monotonic nanoseconds; None if never.

        Answers to pings and a granted handshake are replies; watch events are not.
        """

    def requests(self, client: int) -> dict[str, int]:
        """How many of a client's requests the links have carried so far, by kind.

        Kinds are named as in ``harness.links.zookeeper_frames.REQUESTS``. Handshakes are not
        counted, nor is what a cut has swallowed.
        """

    def shown(self, client: int) -> int:
        """The highest zxid in the header of a reply that has passed to the client; 0: none yet."""

    def recorded(self, client: int) -> WirePassed:
        """How much of a client (the auditor, too) is in the wire's record so far."""

    def unimplemented(self, client: int) -> bool:
        """Whether a reply has passed to the client that refuses a request as unknown (-6)."""

    def watch_events(self) -> list[WatchSeen]:
        """Watch events that passed since the last call, in order."""

    def watches(self) -> list[WatchSeen | WatchLeft]:
        """Watch events, and replies to reads that set watches, since the last call, in order.

        What ``watch_events`` or ``watches`` has returned, neither returns again.
        """

    def close(self) -> None:
        """Stop carrying anything and free the ports."""
