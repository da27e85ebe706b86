"""Connections between the servers for leader elections: ``QuorumCnxManager`` of ZooKeeper 3.8.

There is at most one connection between two servers, and it is kept only if the server with the
larger id has opened it. Per server only the newest message waits to be sent.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rumpus.simulation.kernel.process import Process
from rumpus.simulation.network.network import Network
from rumpus.simulation.network.transport import Transport
from rumpus.simulation.zookeeper.quorum.quorum_verifier import Verifier
from rumpus.simulation.zookeeper.settings import Member

if TYPE_CHECKING:
    from rumpus.simulation.network.attempt import Attempt
    from rumpus.simulation.network.listener import Listener

MILLISECOND = 1_000_000
CONNECT_TIMEOUT = 5_000 * MILLISECOND
GREETING_SIZE = 40


class Greeting(NamedTuple):
    """The first message on a connection, from the server that has opened it."""

    server_id: int
    host: str
    election_port: int


class Message(NamedTuple):
    """Any other message, with its size in bytes."""

    payload: Any
    size: int


class _Link:
    """The connection in use to one other server."""

    __slots__ = ("_manager", "peer", "transport")

    def __init__(self, manager: "ConnectionManager", peer: int, transport: Transport) -> None:
        self._manager = manager
        self.peer = peer
        self.transport = transport

    def data_received(self, data: Any) -> None:
        self._manager.receive(self.peer, data)

    def eof_received(self) -> None:
        self._manager.lost(self)
        self.transport.close()

    def connection_lost(self, _: OSError | None) -> None:
        self._manager.lost(self)

    def writable(self) -> None:
        self._manager.flush(self.peer)


class _Stranger:
    """An accepted connection whose ``Greeting`` has not come yet."""

    __slots__ = ("_manager", "_timer", "_transport")

    def __init__(self, manager: "ConnectionManager", transport: Transport, patience: int) -> None:
        self._manager = manager
        self._transport = transport
        self._timer = manager.process.call_later(patience, transport.abort)

    def data_received(self, data: Any) -> None:
        self._timer.cancel()
        self._manager.greeted(self._transport, data)

    def eof_received(self) -> None:
        self._timer.cancel()
        self._transport.close()

    def connection_lost(self, _: OSError | None) -> None:
        self._timer.cancel()


class _Dropped:
    """A connection that is not wanted, while it closes."""

    __slots__ = ("_transport",)

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def data_received(self, data: Any) -> None:
        """Ignore it."""

    def eof_received(self) -> None:
        self._transport.close()

    def connection_lost(self, _: OSError | None) -> None:
        """Nothing is left to do."""


class ConnectionManager:
    """Sends to and receives from the other servers, by their ids.

    Args:
        process: the server's process; its death ends everything.
        network: the network of the world.
        server_id: this server's.
        verifier: returns the configuration in force, with the other servers' addresses.
        greeting_timeout: nanoseconds after which a connection without a greeting is reset.
        received: called with (sender's id, payload).
        own: returns this server with its addresses; it need not be a member.
    """

    def __init__(
        self,
        process: Process,
        network: Network,
        server_id: int,
        verifier: Callable[[], Verifier],
        greeting_timeout: int,
        received: Callable[[int, Any], None],
        own: Callable[[], Member],
    ) -> None:
        self.process = process
        self.server_id = server_id
        self.receive: Callable[[int, Any], None] = received
        self._network = network
        self._verifier = verifier
        self._own = own
        self._greeting_timeout = greeting_timeout
        self._listener: Listener | None = None
        self._links: dict[int, _Link] = {}
        self._attempts: dict[int, Attempt | None] = {}
        self._waiting: dict[int, Message | None] = {}
        self._last_sent: dict[int, Message] = {}

    def start(self) -> None:
        """Listen on the election port."""
        own = self._own()
        self._listener = self._network.listen(self.process, own.election_port, self._accept)

    def stop(self) -> None:
        """Close everything."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for attempt in self._attempts.values():
            if attempt is not None:
                attempt.cancel()
        self._attempts.clear()
        for link in list(self._links.values()):
            self._drop(link)

    def restart(self) -> None:
        """Close everything, forget unsent messages, and start again: the members have changed."""
        self.stop()
        self._waiting.clear()
        self._last_sent.clear()
        self.start()

    # -- sending --------------------------------------------------------------------------

    def send(self, peer: int, payload: Any, size: int) -> None:
        """Send when possible, in place of a message that still waits. Connect if necessary."""
        self._waiting[peer] = Message(payload, size)
        if peer in self._links:
            self.flush(peer)
        else:
            self.connect(peer)

    def has_delivered(self) -> bool:
        """Whether nothing waits to be sent to at least one server (``haveDelivered``)."""
        return not self._waiting or None in self._waiting.values()

    def connect_all(self) -> None:
        """Try again to connect to all servers for which there has been a message."""
        for peer in list(self._waiting):
            self.connect(peer)

    def connect(self, peer: int, address: tuple[str, int] | None = None) -> None:
        """Open a connection, if there is none and none is being opened.

        Args:
            peer: a server; nothing happens if it is no member and there is no address.
            address: of its election port, from its own greeting; None: from the configuration.
        """
        if peer in self._links or peer in self._attempts:
            return
        if address is None:
            member = self._verifier().members.get(peer)
            if member is None:
                return
            address = (member.host, member.election_port)
        self._attempts[peer] = None  # ``_failed`` may be called before ``connect`` has returned
        attempt = self._network.connect(
            self.process,
            address,
            partial(self._connected, peer),
            partial(self._failed, peer),
            CONNECT_TIMEOUT,
        )
        if peer in self._attempts:
            self._attempts[peer] = attempt

    def flush(self, peer: int) -> None:
        """Send the waiting message, if the connection has room."""
        message = self._waiting.get(peer)
        link = self._links.get(peer)
        if message is None or link is None:
            return
        if link.transport.unsent():
            link.transport.wait_writable()
            return
        self._waiting[peer] = None
        self._last_sent[peer] = message
        link.transport.write_message(message.payload, message.size)

    # -- connections ----------------------------------------------------------------------

    def _accept(self, transport: Transport) -> _Stranger:
        return _Stranger(self, transport, self._greeting_timeout)

    def greeted(self, transport: Transport, greeting: Any) -> None:
        """A greeting has come: keep the connection, or open one to its sender instead."""
        if not isinstance(greeting, Greeting) or greeting.server_id == self.server_id:
            transport.abort()
            return
        peer = greeting.server_id
        if peer < self.server_id:
            old = self._links.get(peer)
            if old is not None:
                self._drop(old)
            transport.receiver = _Dropped(transport)
            transport.close()
            self.connect(peer, (greeting.host, greeting.election_port))
        else:
            transport.receiver = self._take(peer, transport)
            self._resume(peer)

    def _connected(self, peer: int, transport: Transport) -> _Link | _Dropped:
        self._attempts.pop(peer, None)
        own = self._own()
        greeting = Greeting(self.server_id, own.host, own.election_port)
        transport.write_message(greeting, GREETING_SIZE)
        if peer > self.server_id:  # it will open a connection itself
            transport.close()
            return _Dropped(transport)
        link = self._take(peer, transport)
        self._resume(peer)
        return link

    def _failed(self, peer: int, _: OSError) -> None:
        self._attempts.pop(peer, None)

    def _take(self, peer: int, transport: Transport) -> _Link:
        old = self._links.get(peer)
        if old is not None:
            self._drop(old)
        link = self._links[peer] = _Link(self, peer, transport)
        self._waiting.setdefault(peer, None)
        return link

    def _resume(self, peer: int) -> None:
        """Send the last message again: it may have been lost with the former connection."""
        if self._waiting[peer] is None:
            self._waiting[peer] = self._last_sent.get(peer)
        self.flush(peer)

    def _drop(self, link: _Link) -> None:
        self.lost(link)
        link.transport.receiver = _Dropped(link.transport)
        link.transport.close()

    def lost(self, link: _Link) -> None:
        """A connection has ended; another is opened when there is something to send."""
        if self._links.get(link.peer) is link:
            del self._links[link.peer]
