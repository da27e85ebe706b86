"""A check's visit to servers: its connections, which end with it, and the places it may use."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed, RawClient, Reply, Silence
from rumpus.conformance.registry import Inapplicable

if TYPE_CHECKING:
    from rumpus.conformance.channel import Clock

T = TypeVar("T")


class Visit:
    """Connections to the servers of one deployment.

    Args:
        deployment: has ``nodes``, ``clock`` and ``server(node)``; for checks that need more than a
            server also what starts, stops and cuts off servers, and reads their files.
    """

    def __init__(self, deployment: Any) -> None:
        self.deployment = deployment
        self.clock: Clock = deployment.clock
        self.tick_ms: int = deployment.server(deployment.nodes[0]).tick_ms
        self._clients: list[RawClient] = []

    def connect(self, node: str = "n1") -> RawClient:
        """A connection without a session."""
        client = RawClient(self.deployment.server(node).open(), self.clock)
        self._clients.append(client)
        return client

    def session(self, node: str = "n1", timeout_ms: int | None = None, **how: Any) -> RawClient:
        """A connection with a session; 20 ticks unless told otherwise."""
        client = self.connect(node)
        answer = client.handshake(20 * self.tick_ms if timeout_ms is None else timeout_ms, **how)
        assert answer.valid, f"no session: {answer}"
        return client

    def reattach(
        self, old: RawClient, node: str = "n1", timeout_ms: int | None = None
    ) -> RawClient:
        """A new connection of an old client's session."""
        return self.session(
            node, timeout_ms, session=old.session, password=old.password, last_zxid=old.last_zxid
        )

    def word(self, word: str, node: str = "n1") -> str:
        """The answer to a four-letter word; Inapplicable if the server is told not to answer."""
        client = self.connect(node)
        try:
            client.send_bytes(word.encode())
            answer = client.receive_all().decode()
        finally:
            client.hang_up()
        if "is not in the whitelist" in answer:
            raise Inapplicable(f"4lw.commands.whitelist of the server lacks {word}")
        return answer

    def srvr(self, node: str = "n1") -> dict[str, str]:
        """``srvr`` as key and value; empty if the server does not serve."""
        try:
            answer = self.word("srvr", node)
        except (OSError, Closed, Silence):
            return {}
        pairs = (line.split(": ", 1) for line in answer.splitlines() if ": " in line)
        return {pair[0]: pair[1] for pair in pairs}

    def mode(self, node: str) -> str:
        """A server's mode as ``srvr`` shows it; empty if it does not serve."""
        return self.srvr(node).get("Mode", "")

    def zxid(self, node: str) -> int:
        """The last zxid that a server has applied."""
        return int(self.srvr(node)["Zxid"], 16)

    def await_service(self, *nodes: str) -> None:
        """Wait until the nodes (all of them by default) serve."""
        names = nodes or self.deployment.nodes
        self.until(lambda: all(self.mode(node) for node in names))

    def leader(self) -> str:
        """The server that leads."""
        nodes: Iterable[str] = self.deployment.nodes
        return next(node for node in nodes if self.mode(node) == "leader")

    def until(self, condition: Callable[[], T], *, within: float = 30.0, every: float = 0.05) -> T:
        """Wait for something to become true, and give it."""
        within += 9 * self.clock.lateness
        deadline = self.clock.now() + within
        while not (found := condition()):
            assert self.clock.now() < deadline, f"not within {within:.0f} s"
            self.clock.sleep(every)
        return found

    def directory(self, client: RawClient, path: str) -> str:
        """An empty znode of that path, what was left there by an earlier visit removed."""
        self.remove(client, path)
        done(client.call(op.create(path)))
        return path

    def remove(self, client: RawClient, path: str) -> None:
        """Delete a znode and all under it."""
        children = client.call(op.get_children(path))
        for child in children.value or ():
            self.remove(client, f"{path}/{child}")
        client.call(op.delete(path))

    def end(self) -> None:
        """Hang up all connections; sessions with a good connection are closed first."""
        for client in self._clients:
            if client.session:
                try:
                    client.send(op.close_session())
                    client.receive_all(2.0)
                except (Closed, Silence, OSError, ValueError):
                    pass  # it had been closed, or its server is dead
            client.hang_up()


def done(reply: Reply) -> Any:
    """The value of a reply that is no error."""
    assert reply.error == 0, f"error {reply.error}"
    return reply.value
