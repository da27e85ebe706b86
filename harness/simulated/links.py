"""The clients' links in a simulated world: gates in the network, cut exactly and at once.

Implements ``harness.links.links.Links``. Besides, ``arm`` breaks a link at a client's n-th request
of a kind; with real processes that happens only by luck.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from rumpus.harness.links.filtered_connection import ArmedRequest, Frames, FrameTrigger
from rumpus.harness.links.links import Cut, Refusal, WatchLeft, WatchSeen, WirePassed
from rumpus.harness.links.tally import LOSES_TO_SERVER, Tally
from rumpus.harness.links.triggers import (
    FrameSeen,
    RequestTrigger,
    TriggerLinks,
    refuse_below_one,
    refuse_wrong,
)
from rumpus.harness.links.wire_tap import WireLog
from rumpus.harness.links.zookeeper_frames import requests_by_name
from rumpus.harness.simulated.link_connection import Link, LinkConnection
from rumpus.harness.simulated.workers import client_host
from rumpus.recipes.servers import Servers
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.simulator import MILLISECOND, Simulator
from rumpus.simulation.network.gate import Link as Passage
from rumpus.simulation.network.network import Network

_LOST_REPLY = RequestTrigger("drop-reply", request="change")


class _Gate:
    """The callbacks of a network gate, which decide what passes: one for each (client, server)."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._connections = link.connections

    def admit(self, _passage: Passage) -> bool:
        """Whether a new connection reaches the server."""
        if self._link.cut not in LOSES_TO_SERVER:
            return True
        self._link.tally.swallowed += 1
        return False

    def opened(self, passage: Passage) -> None:
        """A connection was opened."""
        if self._link.cut == "reset":
            self._link.tally.swallowed += 1
            passage.reset()
            return
        connection = self._connections[passage] = LinkConnection(self._link, passage)
        if not passage.admitted:
            connection.spoilt = connection.server_ended = True

    def to_server(self, passage: Passage, chunk: bytes) -> bytes:
        """What passes to the server of the bytes that a client has sent."""
        connection = self._connections.get(passage)
        return b"" if connection is None else connection.to_server(chunk)

    def to_client(self, passage: Passage, chunk: bytes) -> bytes:
        """What passes to the client of the bytes that a server has sent."""
        connection = self._connections.get(passage)
        return b"" if connection is None else connection.reaches_client(chunk)

    def kept(self, passage: Passage, *, to_server: bool) -> int:
        """The bytes of one direction that are kept here."""
        connection = self._connections.get(passage)
        return 0 if connection is None else connection.kept(to_server=to_server)

    def hung_up(self, passage: Passage, *, by_client: bool) -> bool:
        """Whether the other side learns that one side has hung up."""
        connection = self._connections.get(passage)
        return connection is None or connection.hung_up(by_client=by_client)


class SimLinks:
    """All links of a simulated run: a gate for each (client, server).

    Args:
        simulator: the simulated world.
        network: the world's network.
        servers: node -> host and port.
        clients: how many clients, numbered from 0.
        host: the host from which a client connects.
        wire: takes a record of every request that passes.

    Raises:
        ValueError: (from every method) there is no such client or node.
    """

    sessions = True

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        servers: Mapping[str, tuple[str, int]],
        clients: int,
        host: Callable[[int], str] = client_host,
        wire: WireLog | None = None,
    ) -> None:
        self.trigger_links: TriggerLinks | None = self
        self._simulator = simulator
        self._network = network
        self._host = host
        self._servers = dict(servers)
        self._watch_events: deque[WatchSeen | WatchLeft] = deque()
        self._wire = wire or WireLog(0)
        self._tallies = [Tally(client, self._wire) for client in range(clients)]
        self._afflicted: set[int] = set()
        self._blacklist: set[int] = set()
        self._links: list[dict[str, Link]] = []
        self._frames = [Frames() for _ in range(clients)]
        self._delays: list[dict[str, float]] = [{} for _ in range(clients)]
        self._log: list[FrameSeen] | None = None
        for tally, frames in zip(self._tallies, self._frames, strict=True):
            links = {n: Link(n, tally, self._watch_events, frames, simulator) for n in servers}
            self._links.append(links)
            for node, address in servers.items():
                wishes = _Gate(links[node])
                gate = network.gate(host(tally.client), address)
                gate.admit = wishes.admit
                gate.opened = wishes.opened
                gate.to_server = wishes.to_server
                gate.to_client = wishes.to_client
                gate.hung_up = wishes.hung_up
                gate.kept = wishes.kept

    def address(self, client: int, node: str) -> tuple[str, int]:
        """Host and port at which a client finds a server: the server's own; gates have none."""
        self._chosen(client, [node])
        return self._servers[node]

    def hosts(self, client: int) -> str:
        """A client's connection string."""
        self._chosen(client, ())
        return ",".join(f"{host}:{port}" for host, port in self._servers.values())

    def places(self, client: int) -> str:
        """The servers' addresses with their names."""
        self._chosen(client, ())
        return str(Servers(self._servers))

    def cut(self, client: int, how: Cut, nodes: Iterable[str] | None = None) -> None:
        """Break a client's links to some servers (all by default)."""
        links = self._chosen(client, nodes)
        self._note("cut", client, how, links)
        if how != "lost-reply":
            self._afflicted.add(client)
        armed = ArmedRequest(_LOST_REPLY) if how == "lost-reply" else None
        for link in links:
            if link.cut == how:
                continue
            self._mend(link)
            link.cut = how
            if armed is not None:
                link.lost_reply = armed
                armed.arm(link)
            for connection in list(link.connections.values()):
                connection.apply_cut()

    def arm(
        self,
        client: int,
        trigger: RequestTrigger,
        nodes: Iterable[str] | None = None,
        session: int | None = None,
    ) -> ArmedRequest:
        """Arm a trigger for a client, on its links to some servers (all by default).

        Args:
            client: its number.
            trigger: what is done about which request.
            nodes: the servers.
            session: only requests of this session count; None: all of the client's.

        Returns:
            The armed trigger. Healing withdraws it, too.

        Raises:
            ValueError: no such kind of request, or a number below 1.
        """
        refuse_wrong(trigger)
        links = self._chosen(client, nodes)
        # "aim" is part of the trace: another word would change the digests of runs.
        self._note("aim", client, f"{trigger.action} {trigger.request} {trigger.number}", links)
        armed = ArmedRequest(trigger, session)
        for link in links:
            armed.arm(link)
        return armed

    def arm_frame(
        self,
        client: int,
        number: int,
        then: Callable[[], object],
        *,
        passes: bool = True,
        resets: bool = False,
    ) -> FrameTrigger:
        """Arm a trigger for a client's n-th frame from now on; healing withdraws it, too."""
        links = self._chosen(client)
        refuse_below_one("frames", number)
        self._note("arm", client, f"frame {number}", links)
        frames = self._frames[client]
        return FrameTrigger(number, then, passes=passes, resets=resets, frames=frames)

    def frames(self) -> list[FrameSeen]:
        """The frames that have come since this was first called."""
        if self._log is None:
            self._log = []
            for frames in self._frames:
                frames.log = self._log
        return list(self._log)

    def reset_session(self, client: int, session: int) -> bool:
        """Reset the client's connections that have a session; whether there was any."""
        found = [
            connection
            for link in self._chosen(client)
            for connection in link.connections.values()
            if connection.open and connection.tally.session == session
        ]
        self._note("reset", client, f"{session:x}", [connection.link for connection in found])
        for connection in found:
            connection.abort()
        return bool(found)

    def refuse_session(self, session: int, how: Refusal = "lasting") -> None:
        """Refuse a session's traffic, heartbeats too, whichever client it is; it then expires."""
        if session in self._blacklist:
            return
        self._blacklist.add(session)
        for client, links in enumerate(self._links):
            for link in links.values():
                having = [c for c in link.connections.values() if c.tally.has(session)]
                if how == "lasting" or (how == "one-server" and having):
                    link.refused.add(session)
                if having:
                    self._note("refuse", client, f"{session:x}", [link])
                for connection in having:
                    connection.abort()

    def delay(self, client: int, milliseconds: float, nodes: Iterable[str] | None = None) -> None:
        """Delay every packet, in both directions."""
        if milliseconds < 0:
            raise ValueError(f"A delay cannot be negative: {milliseconds} ms.")
        host, extra = self._host(client), round(milliseconds * MILLISECOND)
        for link in self._chosen(client, nodes):
            self._delays[client][link.node] = milliseconds
            server, _ = self._servers[link.node]
            for source, target in ((host, server), (server, host)):
                if self._network.path(source, target).delay != extra:
                    self._network.delay(source, target, extra)

    def delays(self, client: int) -> dict[str, float]:
        """By how many milliseconds a client's links are slow."""
        self._chosen(client, ())
        return {node: late for node, late in self._delays[client].items() if late}

    def heal(self, client: int | None = None) -> None:
        """Mend one client's links, or all."""
        for number in range(len(self._links)) if client is None else [client]:
            links = self._chosen(number)
            self._note("heal", number, "", links)
            self._afflicted.discard(number)
            for trigger in list(self._frames[number].triggers):
                trigger.withdraw()
            for link in links:
                for armed in list(link.armed_triggers):
                    armed.withdraw()
                self._mend(link)
            self.delay(number, 0)

    def afflicted(self) -> frozenset[int]:
        """The clients whose links are cut, not counting ``lost-reply``."""
        return frozenset(self._afflicted)

    def in_force(self, client: int) -> dict[str, str]:
        """The cuts on a client's links, node -> how."""
        return {link.node: link.cut for link in self._chosen(client) if link.cut is not None}

    def swallowed(self, client: int) -> int:
        """How many bytes and connections a client's links have refused so far."""
        self._chosen(client, ())
        return self._tallies[client].swallowed

    def connected_to(self, client: int) -> str | None:
        """The server with which the client has a session on an open connection."""
        granted = [
            (connection.tally.granted, link.node)
            for link in self._chosen(client)
            for connection in link.connections.values()
            if connection.tally.granted and connection.open
        ]
        return max(granted)[1] if granted else None

    def last_answer(self, client: int) -> int | None:
        """When a reply last passed to the client, in monotonic nanoseconds."""
        self._chosen(client, ())
        return self._tallies[client].last_answer

    def requests(self, client: int) -> dict[str, int]:
        """How many of a client's requests the links have carried so far, by kind."""
        self._chosen(client, ())
        return requests_by_name(self._tallies[client].requests)

    def shown(self, client: int) -> int:
        """The highest zxid in the header of a reply that has passed to the client; 0: none yet."""
        self._chosen(client, ())
        return self._tallies[client].shown

    def recorded(self, client: int) -> WirePassed:
        """How much of a client is in the wire's record so far."""
        self._chosen(client, ())
        return self._wire.passed(client, BOOT + self._simulator.now)

    def unimplemented(self, client: int) -> bool:
        """Whether a reply has passed to the client that refuses a request as unknown (-6)."""
        self._chosen(client, ())
        return self._tallies[client].unimplemented

    def watch_events(self) -> list[WatchSeen]:
        """Watch events that passed since the last call, in order."""
        return [each for each in self.watches() if isinstance(each, WatchSeen)]

    def watches(self) -> list[WatchSeen | WatchLeft]:
        """Watch events, and replies to reads that left watches, since the last call, in order."""
        events = list(self._watch_events)
        self._watch_events.clear()
        return events

    def close(self) -> None:
        """Reset every connection and remove the gates."""
        for client, links in enumerate(self._links):
            for node, link in links.items():
                self._network.remove_gate(self._host(client), self._servers[node])
                for connection in list(link.connections.values()):
                    connection.abort()

    def _chosen(self, client: int, nodes: Iterable[str] | None = None) -> list[Link]:
        if not 0 <= client < len(self._links):
            raise ValueError(f"There is no client {client}; they are 0 to {len(self._links) - 1}.")
        links = self._links[client]
        if nodes is None:
            return list(links.values())
        chosen = []
        for node in nodes:
            if node not in links:
                raise ValueError(f"There is no node {node!r}; they are {', '.join(links)}.")
            chosen.append(links[node])
        return chosen

    def _note(self, what: str, client: int, how: str, links: list[Link]) -> None:
        self._simulator.trace.append((what, client, how, tuple(link.node for link in links)))

    @staticmethod
    def _mend(link: Link) -> None:
        link.mend()
        for connection in list(link.connections.values()):
            connection.mend()
