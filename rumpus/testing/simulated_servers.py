"""Simulated servers on real sockets, run by a thread of this process: no JVM, no container."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from rumpus.harness.ensemble import EnvironmentRefusal, NodeState
from rumpus.harness.links.filtered_connection import ArmedRequest
from rumpus.harness.links.triggers import RequestTrigger
from rumpus.harness.simulated.ensemble import SimEnsemble
from rumpus.harness.simulated.links import SimLinks
from rumpus.simulation.kernel.simulator import SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.real_sockets import LOOPBACK, RealSockets, World, serve_in_thread
from rumpus.simulation.zookeeper.cluster import Cluster
from rumpus.simulation.zookeeper.serving.session_ids import unsigned
from rumpus.simulation.zookeeper.settings import Settings
from rumpus.testing.servers import SYSTEM, Dump, Session, Znode
from rumpus.usage_error import UsageError

FOUR_LETTER_WORDS = frozenset(
    {"srvr", "ruok", "mntr", "stat", "cons", "dump", "wchs", "isro", "conf", "envi"}
)
LONGEST_SESSION_S = 40
"""The longest timeout that a session can have, in seconds, if the tick allows no longer one."""
MOST_OWED = 4 << 20
"""Bytes that a client may leave unread before its further requests wait."""
MOST_OWED_IN_ALL = 256 << 20
"""Bytes that all clients of all servers may leave unread, apart from a little for each."""
LEAST_OWED_IN_ALL = 96 << 20
"""As much of it each server has at least: the longest answer fits in."""
POLL_S = 0.002

_ALL_CLIENTS = 0
_DRAINING = 1 * SECOND


class SimulatedServers:
    """See ``rumpus.testing.servers.Servers``.

    Made in the thread of the simulated world, by ``simulated_servers``; other threads use it.

    Args:
        nodes: how many voting servers.
        observers: further servers, that do not vote.
        tick: ``tickTime`` in seconds.
        seed: of the world.
    """

    kind = "sim"

    def __init__(self, *, nodes: int, observers: int, tick: float, seed: int) -> None:
        tick_ms = round(tick * 1000)
        settings = Settings(
            tick_time=tick_ms,
            max_session_timeout=max(20 * tick_ms, LONGEST_SESSION_S * 1000),
            max_client_connections=0,
            four_letter_words=FOUR_LETTER_WORDS,
            most_owed=MOST_OWED,
            most_owed_in_all=max(LEAST_OWED_IN_ALL, MOST_OWED_IN_ALL // (nodes + observers)),
        )
        self.simulator = Simulator(seed, epoch=time.time_ns())
        self._network = Network(self.simulator)
        self._cluster = Cluster(
            self.simulator, self._network, nodes, observers=observers, settings=settings
        )
        self.nodes = self._cluster.nodes
        self.voters = self.nodes[:nodes]
        self.addresses: dict[str, tuple[str, int]] = {}
        self._links = SimLinks(
            self.simulator,
            self._network,
            dict(zip(self.nodes, self._cluster.addresses, strict=True)),
            clients=1,
            host=lambda _: LOOPBACK,
        )
        self._ensemble = SimEnsemble(self._cluster, self._network, sleep=self._let_pass)
        # In virtual time alone: this takes as long as the computation, a few milliseconds.
        self._ensemble.start()
        self._forget_watch_events()
        self._sockets: RealSockets

    @property
    def world(self) -> World:
        """What real clients reach."""
        return self.simulator, self._network, self._cluster.addresses

    def attach(self, sockets: RealSockets) -> None:
        """Note the real sockets that the servers are reached by."""
        self._sockets = sockets
        self.addresses = {
            node: (LOOPBACK, port) for node, port in zip(self.nodes, sockets.ports, strict=True)
        }

    def await_end(self) -> None:
        """Wait until the servers end by themselves; then ``simulated_servers`` raises the error."""
        self._sockets.ended.wait()

    def state(self, node: str) -> NodeState:
        """What its process is doing."""
        return self._sockets.ask(lambda: self._ensemble.state(node))

    def serves(self, node: str) -> bool:
        """Whether it serves clients."""
        return self._sockets.ask(lambda: self._ensemble.serves(node))

    def leader(self) -> str | None:
        """The node that leads and serves."""
        return self._sockets.ask(self._ensemble.leader)

    def zxid(self, node: str) -> int:
        """The last zxid that the node has applied."""
        return self._sockets.ask(lambda: self._cluster.zxid(node))

    def kill(self, node: str) -> None:
        """Kill it; its simulated disk stays."""
        self._sockets.ask(lambda: self._ensemble.kill(node))

    def restart(self, node: str) -> None:
        """Start it again, if it is dead."""
        self._sockets.ask(lambda: self._ensemble.restart(node))

    def pause(self, node: str) -> None:
        """Freeze it."""
        self._sockets.ask(lambda: self._ensemble.pause(node))

    def resume(self, node: str) -> None:
        """Let it go on."""
        self._sockets.ask(lambda: self._ensemble.resume(node))

    def partition(self, side: Sequence[str]) -> None:
        """Drop all packets between these servers and the others."""
        here = frozenset(side)
        there = frozenset(self.nodes) - here
        grudge = {node: there if node in here else here for node in self.nodes}
        self._sockets.ask(lambda: self._ensemble.partition(grudge))

    def heal(self) -> None:
        """End the partition."""
        self._sockets.ask(self._ensemble.heal)

    def expire(self, session: int, seconds: float) -> None:
        """Let the leader end a session as it does when no client has been heard of."""
        deadline = time.monotonic() + seconds
        expired_by: str | None = None
        while True:
            leader, remaining = self._sockets.ask(lambda: self._who_has(session))
            if leader is not None and not remaining:
                if expired_by is None:
                    raise UsageError(f"no session 0x{unsigned(session):x}: `dump` shows all")
                return
            if leader is not None and leader != expired_by and leader in remaining:
                expired_by = self._sockets.ask(partial(self._close, leader, session))
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"session 0x{unsigned(session):x} could not be ended within {seconds:g} s: "
                    f"{'no server leads' if leader is None else 'its end was not committed'}; "
                    "a majority of the servers must run and reach each other"
                )
            time.sleep(POLL_S)

    def cut(self, session: int) -> bool:
        """Reset the connection of a session; whether there was one."""
        return self._sockets.ask(lambda: self._links.reset_session(_ALL_CLIENTS, session))

    def drop_reply(self, request: str, number: int, session: int | None) -> "SimDroppedReply":
        """Lose the reply to the n-th request of a kind from now on."""
        trigger = RequestTrigger("drop-reply", request, number)
        armed = self._sockets.ask(
            lambda: self._links.arm(_ALL_CLIENTS, trigger, session=session),
        )
        return SimDroppedReply(self._sockets, armed)

    def dump(self) -> Dump:
        """What the leader holds; if there is none, the server that has applied most."""
        return self._sockets.ask(self._dump)

    # -- within the world's thread --------------------------------------------------------

    def _let_pass(self, seconds: float) -> None:
        self.simulator.run(self.simulator.now + round(seconds * SECOND))

    def _forget_watch_events(self, _: object = None) -> None:
        """The links note all watch events, and nobody asks for them here."""
        self._links.watches()
        self.simulator.call_after(_DRAINING, self._forget_watch_events)

    def _who_has(self, session: int) -> tuple[str | None, list[str]]:
        """The leader, and the serving nodes that know a session."""
        having = []
        for node in filter(self._ensemble.serves, self.nodes):
            server = self._cluster.programs[node].server
            if server is not None and session in server.database.sessions:
                having.append(node)
        return self._ensemble.leader(), having

    def _close(self, leader: str, session: int) -> str | None:
        server = self._cluster.programs[leader].server
        if server is None or server.role is None:
            return None
        server.close_session(session)
        return leader

    def _dump(self) -> Dump:
        node = self._ensemble.leader() or max(self.nodes, key=self._cluster.zxid)
        server = self._cluster.programs[node].server
        if server is None:
            return Dump()
        database = server.database
        znodes = {
            path: Znode(znode.data, znode.session or None)
            for path, znode in sorted(database.tree.nodes.items())
            if path.strip("/") and path != SYSTEM and not path.startswith(SYSTEM + "/")
        }
        connected = {
            session: other
            for other in self.nodes
            if (at := self._cluster.programs[other].server) is not None
            and self._cluster.running(other)
            for session, connection in at.connection_of.items()
            if not connection.closed
        }
        sessions = {
            session: Session(
                timeout / 1000,
                connected.get(session),
                tuple(sorted(database.tree.ephemerals_of(session))),
            )
            for session, timeout in sorted(database.sessions.items())
        }
        return Dump(znodes, sessions)


class SimDroppedReply:
    """See ``rumpus.testing.servers.DroppedReply``."""

    def __init__(self, sockets: RealSockets, armed: ArmedRequest) -> None:
        self._sockets = sockets
        self._armed = armed

    @property
    def happened(self) -> bool:
        """Whether the reply has been lost."""
        return self._sockets.ask(lambda: self._armed.acted is not None)

    def withdraw(self) -> None:
        """Let the reply pass."""
        self._sockets.ask(self._armed.withdraw)


@contextmanager
def simulated_servers(
    *,
    nodes: int,
    observers: int = 0,
    tick: float,
    seed: int = 0,
    ports: Sequence[int] | None = None,
) -> Iterator[SimulatedServers]:
    """Simulated servers that all serve, while the ``with`` block runs.

    Args:
        nodes: how many voting servers.
        observers: further servers, that do not vote.
        tick: ``tickTime`` in seconds.
        seed: decides the random choices of the simulated servers and their network.
        ports: a real port for each server; by default any free ones.

    Raises:
        EnvironmentRefusal: a port cannot be opened.
    """
    made: list[SimulatedServers] = []

    def build() -> World:
        made.append(SimulatedServers(nodes=nodes, observers=observers, tick=tick, seed=seed))
        return made[0].world

    with ExitStack() as stack:
        try:
            sockets = stack.enter_context(serve_in_thread(build, ports))
        except OSError as error:
            if not isinstance(error.filename, int):
                raise
            raise EnvironmentRefusal(
                f"port {error.filename} cannot be had: {error.strerror}; end what uses it, or "
                "choose others with --port N (0: any free ones)"
            ) from error
        made[0].attach(sockets)
        yield made[0]
