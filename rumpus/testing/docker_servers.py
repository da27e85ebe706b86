"""Real servers in Docker containers, for tests of applications."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from time import monotonic, sleep
from uuid import uuid4

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.guard import guarded
from rumpus.harness.docker.leftovers import remove_dead_runs
from rumpus.harness.ensemble import NodeState
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.srvr import answer_to, ask
from rumpus.runs.onlookers import telling
from rumpus.simulation.zookeeper.serving.session_ids import password, unsigned
from rumpus.testing.servers import SYSTEM, Dump, Session, Znode
from rumpus.usage_error import UsageError

PATIENCE_S = 10.0
"""Seconds to wait for a server to take part in something."""
POLL_S = 0.05

_ALL_CLIENTS = 0
_CONNECTION = re.compile(r"sid=0x([0-9a-f]+),.*?\bto=(\d+)")
_GLOBAL_SESSION = re.compile(r"^0x([0-9a-f]+)\t(\d+)ms$", re.MULTILINE)
_SESSION = re.compile(r"^\s*0x([0-9a-f]+)\b", re.MULTILINE)


class DockerServers:
    """See ``rumpus.testing.servers.Servers``.

    Clients reach the servers through links, which can cut their connections and lose replies.

    Args:
        ensemble: it has been started.
        links: of one client, which stands for all.
    """

    kind = "docker"

    def __init__(self, ensemble: DockerEnsemble, links: ProcessLinks) -> None:
        self._ensemble = ensemble
        self._links = links
        self.nodes = self.voters = ensemble.nodes
        self._dropped: LinkDroppedReply | None = None
        self.addresses = {node: links.address(_ALL_CLIENTS, node) for node in self.nodes}

    def state(self, node: str) -> NodeState:
        """What its process is doing."""
        return self._ensemble.state(node)

    def serves(self, node: str) -> bool:
        """Whether it serves clients as part of a quorum."""
        return self._ensemble.serves(node)

    def leader(self) -> str | None:
        """The node that leads and serves."""
        return self._ensemble.leader()

    def zxid(self, node: str) -> int:
        """The last zxid that the node has applied; 0 if it does not tell."""
        answer = ask(self._ensemble.client_address(node))
        return 0 if answer is None else answer.zxid

    def kill(self, node: str) -> None:
        """Kill it; its files stay."""
        self._ensemble.kill(node)

    def restart(self, node: str) -> None:
        """Start it again, if it is dead."""
        if self._ensemble.state(node) == "dead":
            self._ensemble.restart(node)

    def pause(self, node: str) -> None:
        """Freeze it."""
        self._ensemble.pause(node)

    def resume(self, node: str) -> None:
        """Let it go on."""
        self._ensemble.resume(node)

    def partition(self, side: Sequence[str]) -> None:
        """Drop all packets between these servers and the others."""
        here = frozenset(side)
        there = frozenset(self.nodes) - here
        self._ensemble.partition({node: there if node in here else here for node in self.nodes})

    def heal(self) -> None:
        """End the partition."""
        self._ensemble.heal()

    def expire(self, session: int, seconds: float) -> None:
        """Take a session over by a second connection, and close it there.

        A session's password follows from its id. Its client's next connection is told that the
        session has expired.
        """
        hosts = self._direct_hosts()
        taken = KazooClient(hosts, client_id=(session, password(session)), timeout=PATIENCE_S)
        try:
            try:
                taken.start(seconds)
            except (KazooTimeoutError, KazooException) as error:
                raise TimeoutError(
                    f"session 0x{unsigned(session):x} could not be ended within {seconds:g} s: no "
                    f"server took its connection ({error})"
                ) from error
            if taken.client_id is None or taken.client_id[0] != session:
                raise UsageError(f"no session 0x{unsigned(session):x}: `dump` shows all")
        finally:
            taken.stop()  # closes the session
            taken.close()

    def cut(self, session: int) -> bool:
        """Reset the connection of a session; whether there was one."""
        return self._links.reset_session(_ALL_CLIENTS, session)

    def drop_reply(self, request: str, number: int, session: int | None) -> "LinkDroppedReply":
        """Lose the reply to the n-th request of a kind from now on; one at a time."""
        # Asked now, it knows later that it has happened, whatever is in force then.
        if self._dropped is not None and not self._dropped.over:
            raise UsageError(
                "another reply is to be dropped still, and links to real servers can await one at "
                "a time: withdraw that first, or use simulated servers"
            )
        self._links.drop_reply(_ALL_CLIENTS, request, number, session)
        self._dropped = LinkDroppedReply(self._links)
        return self._dropped

    def dump(self) -> Dump:
        """What a client of the leader sees, and what all servers tell of their connections."""
        leader = self._await_leader()
        with self._client(leader) as client:
            znodes = dict(sorted(_walk(client, "/")))
            own = client.client_id[0]
        timeouts: dict[int, float | None] = {}
        connected: dict[int, str] = {}
        for node in self.nodes:
            address = self._ensemble.client_address(node)
            told = answer_to("dump", address) or ""
            for session, milliseconds in _GLOBAL_SESSION.findall(told):
                timeouts[_signed(session)] = int(milliseconds) / 1000
            if node == leader:
                for session in _SESSION.findall(told.partition("ephemeral nodes dump")[0]):
                    timeouts.setdefault(_signed(session), None)
            for session, milliseconds in _CONNECTION.findall(answer_to("cons", address) or ""):
                timeouts[_signed(session)] = int(milliseconds) / 1000
                connected[_signed(session)] = node
        owned: dict[int, list[str]] = {}
        for path, znode in znodes.items():
            if znode.ephemeral_owner is not None:
                owned.setdefault(znode.ephemeral_owner, []).append(path)
        sessions = {
            session: Session(timeout, connected.get(session), tuple(owned.get(session, ())))
            for session, timeout in sorted(timeouts.items())
            if session not in (0, own)
        }
        return Dump(znodes, sessions)

    def _direct_hosts(self) -> str:
        addresses = map(self._ensemble.client_address, self.nodes)
        return ",".join(f"{host}:{port}" for host, port in addresses)

    def _await_leader(self) -> str:
        deadline = monotonic() + PATIENCE_S
        while (leader := self._ensemble.leader()) is None:
            if monotonic() > deadline:
                raise TimeoutError(f"no server leads within {PATIENCE_S:g} s")
            sleep(POLL_S)
        return leader

    @contextmanager
    def _client(self, node: str) -> Iterator[KazooClient]:
        host, port = self._ensemble.client_address(node)
        client = KazooClient(f"{host}:{port}", timeout=PATIENCE_S)
        try:
            client.start(PATIENCE_S)
            yield client
        except KazooTimeoutError as error:
            raise TimeoutError(f"{node} took no connection within {PATIENCE_S:g} s") from error
        finally:
            client.stop()
            client.close()


class LinkDroppedReply:
    """See ``rumpus.testing.servers.DroppedReply``."""

    def __init__(self, links: ProcessLinks) -> None:
        self._links = links
        self._happened = False
        self._withdrawn = False

    @property
    def over(self) -> bool:
        """Whether it is awaited no more: it has happened, or was called off."""
        return self.happened or self._withdrawn

    @property
    def happened(self) -> bool:
        """Whether the reply has been lost."""
        if not (self._happened or self._withdrawn):
            self._happened = not self._links.in_force(_ALL_CLIENTS)
        return self._happened

    def withdraw(self) -> None:
        """Let the reply pass."""
        if not self.over:
            self._withdrawn = True
            self._links.heal(_ALL_CLIENTS)


def _walk(client: KazooClient, path: str) -> Iterator[tuple[str, Znode]]:
    """All znodes below a path; what is deleted meanwhile is left out."""
    try:
        names = client.get_children(path)
    except NoNodeError:
        return
    for name in names:
        below = f"{path.rstrip('/')}/{name}"
        if below == SYSTEM:
            continue
        try:
            data, stat = client.get(below)
        except NoNodeError:
            continue
        # Owners of container and TTL nodes are negative: they are no sessions.
        owner = stat.ephemeralOwner
        yield below, Znode(data, owner if owner > 0 else None)
        if not owner:
            yield from _walk(client, below)


def _signed(digits: str) -> int:
    number = int(digits, 16)
    return number - (1 << 64) if number >> 63 else number


@contextmanager
def docker_servers(*, nodes: int, tick: float, image: str | None = None) -> Iterator[DockerServers]:
    """Real servers that all serve, while the ``with`` block runs; then all is removed.

    It is removed as well if this process ends meanwhile. What killed runs have left is removed
    before.

    Args:
        nodes: how many.
        tick: ``tickTime`` in seconds.
        image: the servers' container image; by default the one that rumpus builds.

    Raises:
        EnvironmentRefusal: no engine, no image, no space, or the servers do not come up.
    """
    say = telling()
    with closing(connect()) as engine:
        remove_dead_runs(engine, say)
    run_id = f"testing-{uuid4().hex[:12]}"
    tick_ms = round(tick * 1000)
    ensemble = DockerEnsemble(run_id, nodes=nodes, image=image, tick_ms=tick_ms, report=say)
    with guarded(run_id):
        try:
            ensemble.start()
            addresses = {node: ensemble.client_address(node) for node in ensemble.nodes}
            with closing(ProcessLinks(addresses, clients=1)) as links:
                yield DockerServers(ensemble, links)
        finally:
            telling()("tearing down")
            ensemble.tear_down()
