"""One client's connection through a link: two sockets, and the bytes between them.

What is read at one end is sent at the other at once where nothing stands in the way, and waits
in that end's queue otherwise (the peer is slow, or the link is delayed). End of stream is queued
like bytes, as ``b""``.
"""

import errno
import selectors
import socket
import struct
from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING

from rumpus.harness.links import zookeeper_frames
from rumpus.harness.links.tally import (
    LOSES_TO_CLIENT,
    LOSES_TO_SERVER,
    ConnectionTally,
    Tally,
)
from rumpus.harness.links.zookeeper_frames import FrameReader

if TYPE_CHECKING:
    from rumpus.harness.links.links import Cut, WatchLeft, WatchSeen

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_CHUNK = 1 << 16  # bytes a read
_QUEUE_LIMIT = 1 << 20  # bytes waiting for one end above which the other is not read
ABORT = struct.pack("ii", 1, 0)  # struct linger: on, 0 s, so that closing sends a reset


class Traffic:
    """What all connections share: the selector, ends with delayed bytes, watch events seen."""

    __slots__ = ("delayed", "selector", "watch_events")

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.delayed: set[End] = set()
        self.watch_events: deque[WatchSeen | WatchLeft] = deque()


class LostReply:
    """A ``lost-reply`` cut: the links it was made on, and the connection whose reply is awaited.

    Args:
        request: kind of request, a name of ``zookeeper_frames.REQUESTS``.
        number: which one of that kind; 1: the next.
        session: only requests of this session count; None: all.
    """

    __slots__ = ("connection", "left", "links", "request", "session")

    def __init__(
        self, request: str = "change", number: int = 1, session: int | None = None
    ) -> None:
        self.request = request
        self.left = number
        self.session = session
        self.links: list[Link] = []
        self.connection: Connection | None = None

    def meant(self, frame: bytes, session: int) -> bool:
        """Count a session's request if it is of this kind; whether it is the one meant."""
        if self.session not in (None, session) or not zookeeper_frames.asks_for(
            self.request, frame
        ):
            return False
        self.left -= 1
        return self.left == 0


class Link:
    """The way from one client to one server, and the faults on it now."""

    __slots__ = (
        "connections",
        "cut",
        "delay",
        "framed",
        "lost_reply",
        "node",
        "refused",
        "server",
        "tally",
        "traffic",
    )

    def __init__(
        self,
        node: str,
        server: tuple[socket.AddressFamily, object],
        tally: Tally,
        traffic: Traffic,
        *,
        framed: bool = True,
    ) -> None:
        self.framed = framed
        """Whether the bytes are frames of ZooKeeper's protocol."""
        self.node = node
        self.server = server
        self.tally = tally
        self.traffic = traffic
        self.cut: Cut | None = None
        self.delay = 0  # nanoseconds
        self.lost_reply: LostReply | None = None
        self.connections: set[Connection] = set()
        self.refused: set[int] = set()
        """Sessions that the service refuses here."""


class End:
    """One socket of a connection, and what waits to be sent on it.

    Attributes:
        lossy: what is read here is dropped.
        connecting: the connection at this end is still being made.
        ended: nothing more will come from here.
        gone: nothing can be sent here any more.
        queue: (when it arrived, bytes, whether they end a reply), oldest first.
    """

    __slots__ = (
        "connecting",
        "connection",
        "ended",
        "gone",
        "interest",
        "lossy",
        "peer",
        "queue",
        "queued",
        "reader",
        "socket",
    )

    peer: "End"

    def __init__(self, connection: "Connection", sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.socket = sock
        self.reader = FrameReader()
        self.reader.tracking = connection.link.framed
        self.queue: deque[tuple[int, bytes, bool]] = deque()
        self.queued = 0
        self.interest = 0
        self.lossy = False
        self.connecting = False
        self.ended = False
        self.gone = False

    def ready(self, events: int) -> None:
        """Called by the loop when the socket can be read or written."""
        if self.connection.closed:
            return  # closed by an earlier event of the same turn
        if events & _READ:
            self.connection.receive(self)
        if events & _WRITE and not self.connection.closed and not self.gone:
            self.connection.flush(self)

    def due(self) -> int:
        """When the oldest bytes in the queue may go, in monotonic nanoseconds."""
        return self.queue[0][0] + self.connection.link.delay


class Connection:
    """A connection from its acceptance to its end, whatever cuts come in between.

    Attributes:
        tally: what has passed on it.
        spoilt: bytes or an end of stream were lost, so that it can never be used again.
    """

    __slots__ = (
        "_awaited",
        "_held",
        "client",
        "closed",
        "greeted",
        "link",
        "server",
        "spoilt",
        "tally",
    )

    def __init__(self, link: Link, accepted: socket.socket) -> None:
        self.link = link
        self.spoilt = False
        self.closed = False
        self.greeted = False
        """Whether the client has sent something, where bytes are no frames of ZooKeeper's."""
        self._awaited: int | None = None  # xid of the reply to lose
        self._held = b""  # incomplete frame held back while a reply is awaited
        self.tally = ConnectionTally(link.tally, link.traffic.watch_events, link.node)
        family, address = link.server
        self.client = End(self, accepted)
        self.server = End(self, socket.socket(family, socket.SOCK_STREAM))
        self.client.peer, self.server.peer = self.server, self.client
        link.connections.add(self)
        self.apply_cut()
        if self.client.lossy:
            self._swallow(1)
            self._lose_server()
        else:
            self._connect(address)

    @property
    def open(self) -> bool:
        """Whether neither side has hung up."""
        return not (self.client.ended or self.server.ended)

    def apply_cut(self) -> None:
        """Apply the link's cut to this connection from now on; a ``reset`` ends it."""
        cut = self.link.cut
        if cut == "reset":
            self._swallow(1)
            self.abort()
            return
        for end, lossy in (
            (self.client, cut in LOSES_TO_SERVER),
            (self.server, cut in LOSES_TO_CLIENT),
        ):
            end.lossy = lossy
            if lossy and end.peer.queue:  # what is queued is lost too
                self._swallow(end.peer.queued)
                self._clear(end.peer)
            self._watch(end)
        if cut == "half-open":
            self.spoilt = True
            self._lose_server()

    def receive(self, end: End) -> None:
        """Read what has come at an end, and send it on as far as the link's state allows."""
        try:
            data = end.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._break(end)
            return
        if end.lossy:
            if end is self.server:
                self.tally.answered(end.reader.feed(data), monotonic_ns())
            self._swallow(len(data))  # an end of stream is lost too, though it is no byte
            if not data:
                self._end(end)
        elif not data:
            self._end(end)
            if not self.closed:
                self._send(end.peer, b"", answers=False)
        elif end is self.client:
            frames = end.reader.feed(data)
            self._look_at_requests(frames)
            if self.tally.wanted in self.link.refused:
                self._turn_away()
            else:
                self.tally.passed(frames, monotonic_ns())
                self._send(self.server, data, answers=False)
        else:
            self._pass_replies(data)

    def flush(self, end: End) -> None:
        """Send what is due in an end's queue, as far as the socket takes it."""
        if end.connecting:
            if end.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self._unreachable()
                return
            end.connecting = False
        delay = self.link.delay
        self.link.traffic.delayed.discard(end)
        while end.queue:
            arrived, data, answers = end.queue[0]
            if delay and arrived + delay > monotonic_ns():
                self.link.traffic.delayed.add(end)
                break
            sent = self._write(end, data, answers=answers)
            if self.closed or end.gone:
                return
            end.queued -= sent
            if sent < len(data):
                end.queue[0] = (arrived, data[sent:], answers)
                break
            end.queue.popleft()
        self._watch(end)
        self._watch(end.peer)
        self._close_if_done()

    def release(self) -> None:
        """Stop awaiting a reply, and send on what was held back for that."""
        self._awaited = None
        held, self._held = self._held, b""
        if held:
            self._send(self.client, held, answers=False)

    def abort(self) -> None:
        """Reset both ends."""
        for end in (self.client, self.server):
            if not end.gone:
                end.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        self.close()

    def close(self) -> None:
        """Close both ends and forget the connection."""
        self.closed = True
        self.tally.ended()
        for end in (self.client, self.server):
            self._clear(end)
            self._forget(end)
            end.socket.close()
        self.link.connections.discard(self)
        lost_reply = self.link.lost_reply
        if lost_reply is not None and lost_reply.connection is self:
            # It died before its reply came: wait for the next such request.
            lost_reply.connection = None
            lost_reply.left = 1

    def _connect(self, address: object) -> None:
        outcome = self.server.socket.connect_ex(address)  # type: ignore[arg-type]  # as resolved
        if outcome in {0, errno.EINPROGRESS}:
            self.server.connecting = outcome != 0
            self._watch(self.server)
        else:
            self._unreachable()

    def _unreachable(self) -> None:
        """The server cannot be reached: hang up on the client, in the orderly way."""
        self._lose_server()
        if self.server.lossy:
            self.spoilt = True
        else:
            self._send(self.client, b"", answers=False)

    def _turn_away(self) -> None:
        """Tell a client that its session has expired, as a server does, and hang up."""
        if self.server.lossy:
            self._swallow(len(zookeeper_frames.EXPIRED))
        elif not self.server.gone:
            self._send(self.client, zookeeper_frames.EXPIRED, answers=False)
        if not (self.closed or self.server.gone):
            self._unreachable()

    def _lose_server(self) -> None:
        server = self.server
        server.gone = server.ended = True
        server.connecting = False
        self._clear(server)
        self._forget(server)
        server.socket.close()

    def _look_at_requests(self, frames: list[bytes]) -> None:
        if not self.link.framed:
            self.link.tally.requests[zookeeper_frames.PIECE] += 1
            self._look_at_piece()
            return
        frames = self.tally.requests(frames)
        lost_reply = self.link.lost_reply
        if lost_reply is None or lost_reply.connection is not None:
            return
        for frame in frames:
            if lost_reply.meant(frame, self.tally.session):
                lost_reply.connection = self
                self._awaited = zookeeper_frames.xid(frame)
                return

    def _look_at_piece(self) -> None:
        """Await the reply to a request that has no frame, but not to the first: a greeting."""
        lost_reply = self.link.lost_reply
        if self.greeted and lost_reply is not None and lost_reply.connection is None:
            lost_reply.connection = self
        self.greeted = True

    def _pass_replies(self, data: bytes) -> None:
        if not self.link.framed:
            lost_reply = self.link.lost_reply
            if lost_reply is not None and lost_reply.connection is self:
                self._fire(len(data))
            else:
                self._send(self.client, data, answers=True)
            return
        frames = self.server.reader.feed(data)
        now = monotonic_ns()
        self.tally.answered(frames, now)
        number, answers = self.tally.replies(frames, self._awaited, now)
        if number is not None:
            lost = sum(map(len, frames[number:])) + self.server.reader.pending
            data = (self._held + data)[:-lost]
            if data:
                self._send(self.client, data, answers=answers)
            self._fire(len(frames[number]))
            return
        if self._awaited is not None:
            # Only whole frames pass, so that not even the first byte of the awaited one does.
            data = self._held + data
            passing = max(0, len(data) - self.server.reader.pending)
            data, self._held = data[:passing], data[passing:]
        if data:
            self._send(self.client, data, answers=answers)

    def _fire(self, size: int) -> None:
        """Drop the awaited reply, which ends the cut."""
        self._swallow(size)
        lost_reply = self.link.lost_reply
        if lost_reply is not None:
            for link in lost_reply.links:
                link.cut = link.lost_reply = None
        if not self.closed:
            self.abort()

    def _send(self, to: End, data: bytes, *, answers: bool) -> None:
        """Send bytes, or the end of the stream (``b""``), now or when it is their time."""
        if to.gone:
            self._close_if_done()
            return
        if not to.queue and not to.connecting and not self.link.delay:
            sent = self._write(to, data, answers=answers)
            if self.closed or to.gone:
                return
            if sent == len(data):
                if not data:
                    self._close_if_done()
                return
            data = data[sent:]
        to.queue.append((monotonic_ns(), data, answers))
        to.queued += len(data)
        if self.link.delay and not to.connecting:
            self.link.traffic.delayed.add(to)
        self._watch(to)
        self._watch(to.peer)

    def _write(self, to: End, data: bytes, *, answers: bool) -> int:
        """Returns how many bytes the socket took. The connection may be closed on return."""
        try:
            if not data:
                to.socket.shutdown(socket.SHUT_WR)
                return 0
            sent = to.socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._break(to)
            return 0
        if answers and sent == len(data):
            self.link.tally.last_answer = monotonic_ns()
        return sent

    def _break(self, end: End) -> None:
        """An end was reset by its peer: reset the other too, unless a cut loses the reset."""
        if not end.lossy:
            self.abort()
            return
        self.spoilt = end.gone = True
        self._clear(end)
        self._watch(end.peer)
        self._end(end)

    def _end(self, end: End) -> None:
        end.ended = True
        if end is self.client and self.server.connecting and end.reader.tracking:
            # The client hung up before the server was reached. What it sent must not arrive later:
            # a handshake would move its session to a connection that no client has.
            self.close()
            return
        self._watch(end)
        if end.lossy:
            self._close_if_done()

    def _close_if_done(self) -> None:
        client, server = self.client, self.server
        if client.ended and server.ended and not client.queue and not server.queue:
            self.close()

    def _swallow(self, amount: int) -> None:
        self.spoilt = True
        self.link.tally.swallowed += amount

    def _clear(self, end: End) -> None:
        end.queue.clear()
        end.queued = 0
        self.link.traffic.delayed.discard(end)

    def _watch(self, end: End) -> None:
        """Tell the selector which events matter at this end now."""
        if self.closed:
            return
        interest = 0
        if not end.gone:
            waiting = end.queue and end not in self.link.traffic.delayed
            if end.connecting or waiting:
                interest |= _WRITE
            if not (end.ended or end.connecting) and (end.lossy or end.peer.queued < _QUEUE_LIMIT):
                interest |= _READ
        if interest == end.interest:
            return
        selector = self.link.traffic.selector
        if not interest:
            selector.unregister(end.socket)
        elif not end.interest:
            selector.register(end.socket, interest, end)
        else:
            selector.modify(end.socket, interest, end)
        end.interest = interest

    def _forget(self, end: End) -> None:
        if end.interest:
            self.link.traffic.selector.unregister(end.socket)
            end.interest = 0
