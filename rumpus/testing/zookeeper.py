"""``rumpus.zookeeper``: ZooKeeper servers for the tests of an application, and faults for them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

from rumpus.harness.ensemble import NodeState
from rumpus.harness.links.zookeeper_frames import REQUESTS
from rumpus.testing.chosen_leader import make_leader
from rumpus.testing.servers import DroppedReply, Dump, Servers
from rumpus.usage_error import UsageError

PATIENCE_S = 30.0
"""Seconds that methods wait for the servers, if nothing is said."""
SIM_TICK_S = 0.1
"""The tick of simulated servers: a silent server is given up after 5 ticks."""
DOCKER_TICK_S = 0.5
MOST_NODES = 9
RECONNECTION_S = 5.0
"""Seconds to wait for a client that has lost its connection, to learn its session."""

_POLL_S = 0.005


class Client(Protocol):
    """A client: kazoo's, or anything with this property."""

    @property
    def client_id(self) -> tuple[int, bytes] | None:
        """Session id and password; None if it is not connected."""


class ZooKeeper:
    """ZooKeeper servers that a test controls; made by `zookeeper`.

    All methods can be called from any thread; those that change something take turns. Methods that
    take a ``client`` take a kazoo client, or a session's id.

    Raises:
        UsageError: (from every method) there is no such server or session, or it is in no state
            for that; the message says what there is.
        TimeoutError: (from methods that wait) it did not happen in time.
        EnvironmentRefusal: (with real servers) Docker refuses.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._turn = threading.RLock()

    # -- what there is --------------------------------------------------------------------

    @property
    def hosts(self) -> str:
        """The connection string: all servers."""
        return ",".join(self.address(node) for node in self.nodes)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the servers: ``n1``, ``n2``, in order of their ids."""
        return tuple(self._servers.nodes)

    @property
    def leader(self) -> str | None:
        """The server that leads now; None if there is none."""
        return self._servers.leader()

    @property
    def kind(self) -> str:
        """``sim`` or ``docker``."""
        return self._servers.kind

    def address(self, node: str) -> str:
        """The host and port of one server, as a connection string."""
        host, port = self._servers.addresses[self._known(node)]
        return f"{host}:{port}"

    def state(self, node: str) -> NodeState:
        """``running``, ``paused`` or ``dead``."""
        return self._servers.state(self._known(node))

    def serves(self, node: str) -> bool:
        """Whether a server serves clients now, as part of a quorum."""
        return self._servers.serves(self._known(node))

    def dump(self) -> Dump:
        """All znodes with data and ephemeral owner, and all sessions."""
        return self._servers.dump()

    # -- faults of servers ----------------------------------------------------------------

    def kill(self, node: str) -> None:
        """Kill a server with SIGKILL. Its disk stays; a dead server stays dead."""
        with self._turn:
            self._servers.kill(self._known(node))

    def restart(self, node: str) -> None:
        """Start a dead server again on its disk. `await_service` waits until it serves."""
        with self._turn:
            self._servers.restart(self._alive(node, "restarted", among=("dead", "running")))

    def pause(self, node: str) -> None:
        """Freeze a server: its connections stay open and silent."""
        with self._turn:
            self._servers.pause(self._alive(node, "paused"))

    def resume(self, node: str) -> None:
        """Let a paused server go on."""
        with self._turn:
            self._servers.resume(self._alive(node, "resumed"))

    def partition(self, *nodes: str) -> None:
        """Cut these servers off from the others, in place of any earlier partition.

        Clients still reach all servers.
        """
        side = [self._known(node) for node in nodes]
        if not side or len(set(side)) == len(self.nodes):
            raise UsageError(
                f"a partition has servers on both sides: name some of {', '.join(self.nodes)}, "
                "not all"
            )
        with self._turn:
            self._servers.partition(side)

    def heal(self) -> None:
        """End the partition. Dead servers stay dead, and paused ones paused."""
        with self._turn:
            self._servers.heal()

    def elect(self, node: str, *, timeout: float = PATIENCE_S) -> None:
        """Make a server the leader.

        Servers are stopped and started for that, so clients lose connections, and no sessions if
        those live longer than the elections take. Returns when all servers serve again.
        """
        deadline = time.monotonic() + timeout
        with self._turn:
            make_leader(
                self._servers,
                self._alive(node, "elected", among=("running",)),
                write=self._write,
                deadline=deadline,
            )

    # -- faults of sessions and requests --------------------------------------------------

    def expire(self, client: Client | int, *, timeout: float = PATIENCE_S) -> None:
        """End a client's session, as if the servers had not heard of it for too long.

        Its ephemeral znodes are gone when this returns; the client learns it at its next
        connection, a moment later.
        """
        with self._turn:
            self._servers.expire(_session(client), timeout)

    def cut(self, client: Client | int) -> None:
        """Reset a client's connection. Its session lives, and it connects again."""
        session = _session(client)
        with self._turn:
            if not self._servers.cut(session):
                raise UsageError(
                    f"session {session:#x} has no connection now, so there is none to be reset"
                )

    def drop_reply(
        self, request: str = "create", number: int = 1, *, client: Client | int | None = None
    ) -> DroppedReply:
        """Lose the reply to a request: it takes effect, but its client does not learn that.

        The reply to the request never arrives, and the connection is reset.

        Args:
            request: ``create``, ``delete``, ``set-data``, ``get-data``, ``exists``,
                ``get-children``, ``sync``, ``multi``, ``close``, ``ping``; or a group: ``read``,
                ``write``, ``change`` (creates, sets and multis).
            number: which request of that kind from now on; 1: the next.
            client: only its requests count; None: those of all clients together.

        Returns:
            tells whether it has ``happened``; ``withdraw()`` calls it off.
        """
        if request not in REQUESTS:
            raise UsageError(
                f"no request is called {request!r}; there are {', '.join(sorted(REQUESTS))}"
            )
        if number < 1:
            raise UsageError(f"requests are counted from 1, not from {number}")
        session = None if client is None else _session(client)
        with self._turn:
            return self._servers.drop_reply(request, number, session)

    # -- waiting --------------------------------------------------------------------------

    def await_leader(self, *, timeout: float = PATIENCE_S) -> str:
        """The server that leads, as soon as there is one."""
        deadline = time.monotonic() + timeout
        while (leader := self.leader) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no server leads within {timeout:g} s: {self._states()}")
            time.sleep(_POLL_S)
        return leader

    def await_service(self, *nodes: str, timeout: float = PATIENCE_S) -> None:
        """Wait until these servers serve clients; by default all."""
        names = [self._known(node) for node in nodes] or list(self.nodes)
        deadline = time.monotonic() + timeout
        while silent := [node for node in names if not self._servers.serves(node)]:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{', '.join(silent)} did not serve within {timeout:g} s: {self._states()}"
                )
            time.sleep(_POLL_S)

    # -- within ---------------------------------------------------------------------------

    def _known(self, node: str) -> str:
        if node not in self._servers.nodes:
            raise UsageError(f"no server is called {node!r}; there are {', '.join(self.nodes)}")
        return node

    def _alive(
        self, node: str, what: str, among: tuple[NodeState, ...] = ("running", "paused")
    ) -> str:
        state = self.state(node)
        if state not in among:
            remedy = {"dead": "; `restart` it first", "paused": "; `resume` it first"}
            raise UsageError(f"{node} is {state}, and cannot be {what}{remedy.get(state, '')}")
        return node

    def _states(self) -> str:
        return ", ".join(f"{node} is {self.state(node)}" for node in self.nodes)

    def _write(self, node: str) -> None:
        """Commit a transaction through a server: a new session is one."""
        from kazoo.client import KazooClient  # noqa: PLC0415 - slow to import, and seldom needed

        client = KazooClient(self.address(node))
        try:
            client.start(PATIENCE_S)
        finally:
            client.stop()
            client.close()


def _session(client: Client | int) -> int:
    if isinstance(client, int):
        return client
    deadline = time.monotonic() + RECONNECTION_S
    while (
        (identity := client.client_id) is None
        and getattr(client, "state", None) == "SUSPENDED"  # it is about to connect again
        and time.monotonic() < deadline
    ):
        time.sleep(_POLL_S)
    if identity is None or not identity[0]:
        raise UsageError(
            "this client is not connected, so its session is not known: start it, or wait until it "
            "is connected again, or give the session's id"
        )
    return identity[0]


@contextmanager
def zookeeper(
    *,
    nodes: int = 3,
    ensemble: Literal["sim", "docker", "auto"] = "sim",
    tick: float | None = None,
    seed: int = 0,
    image: str | None = None,
    version: str | None = None,
) -> Iterator[ZooKeeper]:
    """ZooKeeper servers for a test, on ports of 127.0.0.1, while the ``with`` block runs.

    Several can run in a process at once. When the block ends, however it ends, nothing is left: no
    threads, sockets, containers or files.

    Args:
        nodes: how many servers; 1 makes a standalone one.
        ensemble: ``sim``: simulated servers in a thread of this process, which start in
            milliseconds; ``docker``: real servers; ``auto``: real ones if an engine answers.
        tick: the servers' ``tickTime`` in seconds. A silent server is given up after 5 ticks; the
            shortest session is 2 ticks, the longest 20, or 40 s with simulated servers. By default
            0.1 s for simulated servers, 0.5 s for real ones.
        seed: decides the random choices of simulated servers.
        image: container image of real servers; by default the one that rumpus builds.
        version: of real servers, such as ``3.9``, in place of an image: see ``rumpus image``.

    Raises:
        UsageError: an argument is out of range, or two do not go together.
        EnvironmentRefusal: this host does not allow it, for example because no engine answers.
    """
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"nodes: {nodes} is not from 1 to {MOST_NODES}")
    if tick is not None and not 0.01 <= tick <= 60:
        raise UsageError(f"tick: {tick} is not from 0.01 to 60 seconds")
    if version is not None:
        from rumpus.runs.ensemble_choice import image_of_version  # noqa: PLC0415 - slow to import

        if image is not None:
            raise UsageError("version and image both say what the servers run: leave one out")
        image = image_of_version(version, ensemble, "version")
    if _is_docker(ensemble, image):
        from rumpus.testing.docker_servers import docker_servers  # noqa: PLC0415 - slow to import

        with docker_servers(nodes=nodes, tick=tick or DOCKER_TICK_S, image=image) as real:
            yield ZooKeeper(real)
        return
    from rumpus.testing.simulated_servers import simulated_servers  # noqa: PLC0415 - likewise

    with simulated_servers(nodes=nodes, tick=tick or SIM_TICK_S, seed=seed) as simulated:
        yield ZooKeeper(simulated)


def _is_docker(ensemble: str, image: str | None) -> bool:
    if ensemble == "sim" and image is None:
        return False
    from rumpus.runs.ensemble_choice import ENSEMBLES, choose_ensemble  # noqa: PLC0415 - likewise

    if ensemble not in ENSEMBLES:
        raise UsageError(f"no ensemble is called {ensemble!r}; there are {', '.join(ENSEMBLES)}")
    return choose_ensemble(ensemble, image).kind == "docker"
