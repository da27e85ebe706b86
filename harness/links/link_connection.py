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
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rumpus.harness.links import filtered_connection, zookeeper_frames
from rumpus.harness.links.filtered_connection import (
    FilteredConnection,
    Frames,
    FrameTrigger,
    Piece,
)
from rumpus.harness.links.tally import LOSES_TO_CLIENT, LOSES_TO_SERVER, Tally

if TYPE_CHECKING:
    from rumpus.harness.links.links import WatchLeft, WatchSeen

T = TypeVar("T")

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_CHUNK = 1 << 16  # bytes a read
_QUEUE_LIMIT = 1 << 20  # bytes waiting for one end above which the other is not read
ABORT = struct.pack("ii", 1, 0)  # struct linger: on, 0 s, so that closing sends a reset


class Traffic:
    """What all connections share: the selector, ends with delayed bytes, timers, watches seen."""

    __slots__ = ("_numbers", "delayed", "selector", "timers", "watch_events")

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.delayed: set[End] = set()
        self.timers: list[tuple[int, int, Callable[[Any], object], Any]] = []
        """When each is due, in monotonic nanoseconds, a number, and what is called; a heap."""
        self.watch_events: deque[WatchSeen | WatchLeft] = deque()
        self._numbers = count()

    def later(self, nanoseconds: int, function: Callable[[T], object], argument: T) -> None:
        """Call a function in a later turn of the loop."""
        due = monotonic_ns() + nanoseconds
        heappush(self.timers, (due, next(self._numbers), function, argument))

    def call_due(self) -> None:
        """Call what is due."""
        while self.timers and self.timers[0][0] <= monotonic_ns():
            _, _, function, argument = heappop(self.timers)
            function(argument)


class Link(filtered_connection.Link):
    """The way from one client to one server, and the faults on it now."""

    __slots__ = ("connections", "delay", "framed", "server", "traffic")

    def __init__(
        self,
        node: str,
        server: tuple[socket.AddressFamily, object],
        tally: Tally,
        traffic: Traffic,
        frames: Frames,
        *,
        framed: bool = True,
    ) -> None:
        super().__init__(node, tally, traffic.watch_events, frames)
        self.framed = framed
        """Whether the bytes are frames of ZooKeeper's protocol."""
        self.server = server
        self.traffic = traffic
        self.delay = 0  # nanoseconds
        self.connections: set[Connection] = set()

    def monotonic(self) -> int:
        """Nanoseconds on the monotonic clock."""
        return monotonic_ns()

    def later(self, nanoseconds: int, function: Callable[[T], object], argument: T) -> None:
        """Call a function once so much time has passed."""
        self.traffic.later(nanoseconds, function, argument)


class Halted(NamedTuple):
    """What waits on a connection until somebody has done what is to be done at a frame.

    Attributes:
        rest: the frame, which has come, and what is behind it.
        from_server: whether it comes from the server.
        passes: whether the frame passes.
        resets: whether the connection is reset after it.
        awaited: the triggers about which that is not done yet.
    """

    rest: Piece
    from_server: bool
    passes: bool
    resets: bool
    awaited: set[FrameTrigger]


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
        "socket",
    )

    peer: "End"

    def __init__(self, connection: "Connection", sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self.socket = sock
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


class Connection(FilteredConnection):
    """A connection from its acceptance to its end, whatever cuts come in between."""

    __slots__ = ("_ending", "_halted", "client", "closed", "greeted", "server")

    link: Link

    def __init__(self, link: Link, accepted: socket.socket) -> None:
        super().__init__(link)
        self._from_client.tracking = self._from_server.tracking = link.framed
        self.closed = False
        self.greeted = False
        """Whether the client has sent something, where bytes are no frames of ZooKeeper's."""
        self._ending = False  # reset it once what passes now has passed
        self._halted: Halted | None = None
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
        if self._halted is not None:
            return  # the other end has come to a frame in the same turn of the loop
        try:
            data = end.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._break(end)
            return
        if not data:
            if end.lossy:  # an end of stream is lost too, though it is no byte
                self._swallow(0)
            self._end(end)
            if not (self.closed or end.lossy):
                self._send(end.peer, b"", answers=False)
        elif end is self.client:
            self._deliver(self.server, self.to_server(data), False)
        else:
            self._deliver(self.client, *self.to_client(data))

    def done(self, trigger: FrameTrigger) -> None:
        """What was to be done at a trigger's frame has been done: pass on what waits for it."""
        halted = self._halted
        if halted is None or trigger not in halted.awaited:
            return
        halted.awaited.remove(trigger)
        if halted.awaited or self.closed:
            return
        self._halted = None
        first, behind = halted.rest.up_to(1), halted.rest.behind(1)
        if halted.passes:
            self._pass(first, from_server=halted.from_server)
        else:
            self._swallow(len(first.chunk))
        if self.closed:
            return
        end = self.server if halted.from_server else self.client
        if halted.resets:
            self._swallow(len(behind.chunk))
            self._hang_up(end.peer)
        elif end.lossy:
            self._swallow(len(behind.chunk))
        elif behind.chunk:
            behind = self._look_at_frames(behind, 0, from_server=halted.from_server)
            self._pass(behind, from_server=halted.from_server)
        self._watch(self.client)
        self._watch(self.server)

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
        self._drop_trigger()

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

    def _requests_passing(self, piece: Piece) -> bytes:
        if self.link.framed:
            return super()._requests_passing(piece)
        self.link.tally.requests[zookeeper_frames.PIECE] += 1
        # Not the reply to the first: that is a greeting.
        for armed in self.link.armed_triggers if self.greeted else ():
            if armed.connection is None:
                armed.connection = self
                self._trigger = armed
        self.greeted = True
        return piece.chunk

    def _replies_passing(self, piece: Piece) -> tuple[bytes, bool]:
        if self.link.framed:
            return super()._replies_passing(piece)
        if self._trigger is None:
            return piece.chunk, True
        return self._meet(b"", piece._replace(frames=[piece.chunk])), False

    def _halt(self, triggers: list[FrameTrigger], rest: Piece, *, from_server: bool) -> bool:
        """The control process does what is to be done, and says so (``done``)."""
        self._halted = Halted(
            rest,
            from_server=from_server,
            passes=all(trigger.passes for trigger in triggers),
            resets=any(trigger.resets for trigger in triggers),
            awaited=set(triggers),
        )
        return True

    def _end_behind(self) -> None:
        self._ending = True

    def _pass_held(self, held: bytes) -> None:
        if not self.closed:  # it may have been reset while it was held back
            self._send(self.client, held, answers=True)

    def _pass(self, piece: Piece, *, from_server: bool) -> None:
        if from_server:
            self._deliver(self.client, *self._replies_passing(piece))
        else:
            self._deliver(self.server, self._requests_passing(piece), False)

    def _deliver(self, to: End, data: bytes, answers: bool) -> None:
        """Send what passes, and end the connection behind it if something has decided that."""
        if data and not self.closed:
            self._send(to, data, answers=answers)
        if self._ending and not self.closed:
            self._hang_up(to)
        self._watch(self.client)
        self._watch(self.server)

    def _hang_up(self, to: End) -> None:
        """Reset both ends; but what waits to be sent to a server is sent, and then its end."""
        if to is self.client or to.gone or not (to.queue or to.connecting):
            self.abort()
            return
        client = self.client
        if not client.gone:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            self._clear(client)
            self._forget(client)
            client.socket.close()
            client.gone = client.ended = True
        self._send(to, b"", answers=False)

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
        if end is self.client and self.server.connecting and self._from_client.tracking:
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
            room = end.lossy or end.peer.queued < _QUEUE_LIMIT
            if room and not (end.ended or end.connecting or self._halted):
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
