# ruff: noqa: SLF001 - the two ends of a connection are one thing
"""One end of a simulated TCP connection: sending, retransmitting, receiving, ending.

Data travels as segments in first-in-first-out order. In an undisturbed network a write is one
event, and its acknowledgement takes effect the moment it arrives. If a packet is lost, what comes
behind it waits at the receiver until a retransmission has filled the gap; retransmissions back
off as Linux's do (200 ms, doubled up to 120 s, given up after the 15th: ``tcp_retries2``). An
acknowledgement needs the path back. If only that is cut, data get through, but the sender goes on
retransmitting them, and gives up in the end.
"""

import errno
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from zlib import adler32

from rumpus.simulation.network.segments import BROKEN, FIN, HELLO, Mark, Message, Segment, size_of

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process
    from rumpus.simulation.network.gate import Link
    from rumpus.simulation.network.listener import Listener
    from rumpus.simulation.network.surroundings import Surroundings
    from rumpus.simulation.network.transport import Receiver

SEND_BUFFER = 256 * 1024
"""Bytes that the sender's kernel keeps until they are acknowledged."""
RECEIVE_BUFFER = 256 * 1024
"""Bytes that the receiver's kernel keeps until the program reads them."""
LARGEST_SEGMENT = 64 * 1024
"""Bytes that are handed to the receiver at once, at most (segmentation offload)."""
FIRST_RTO = 200_000_000
LONGEST_RTO = 120_000_000_000
MOST_RETRIES = 15


class Nobody:
    """The receiver of a connection that no program has taken over yet, or that is over."""

    def data_received(self, data: Any) -> None:
        """Nothing is received before the program has taken the connection over."""

    def eof_received(self) -> None:
        """As above."""

    def connection_lost(self, error: OSError | None) -> None:
        """There is no one to tell."""


NOBODY = Nobody()


class Connection:
    """One end of a connection; a ``Transport``. Made by ``Network``, together with its peer.

    No method calls the receiver directly: all calls to it come from the main loop.
    """

    __slots__ = (
        "_arrive_at_peer",
        "_awaiting_writable",
        "_back",
        "_broken",
        "_closed",
        "_closing_told",
        "_drain_due",
        "_draining",
        "_eof_sent",
        "_eof_taken",
        "_error",
        "_flying",
        "_gap",
        "_held",
        "_held_bytes",
        "_in_flight_again",
        "_joinable",
        "_last_arrival",
        "_listener",
        "_lost",
        "_messages_arrive_at_peer",
        "_network",
        "_note",
        "_out",
        "_over",
        "_paused",
        "_peer",
        "_process",
        "_queue",
        "_queued",
        "_random",
        "_retries",
        "_rto",
        "_simulator",
        "_slow_in",
        "_slow_out",
        "_started",
        "_timer",
        "_timer_runs",
        "_unacknowledged",
        "identity",
        "link",
        "local",
        "receiver",
        "remote",
    )

    def __init__(
        self,
        network: "Surroundings",
        process: "Process",
        local: tuple[str, int],
        remote: tuple[str, int],
        identity: int,
    ) -> None:
        self._network = network
        self._process = process
        self._simulator = process.simulator
        self._note = process.simulator.trace.append
        self._random = network.chance
        self.local = local
        self.remote = remote
        self.identity = identity
        self.receiver: Receiver = NOBODY
        self.link: Link | None = None
        """The gate's view of the connection, if it goes through a gate."""
        self._listener: Listener | None = None
        self._out = network.path(local[0], remote[0])
        self._back = network.path(remote[0], local[0])
        # Sending. In undisturbed connections, writes and arrivals skip most checks (fast path).
        self._slow_out = False  # whether writes must take the slow path
        self._flying = 0  # bytes sent and not acknowledged
        self._unacknowledged = 0  # of these: arrived, but the acknowledgement was lost
        self._queue: deque[Segment] = deque()  # not sent yet: no room at the receiver
        self._queued = 0  # bytes in it
        self._lost: deque[tuple[Segment, bool]] = deque()  # from the gap on: (it, arrived)
        self._gap = False  # whether a lost segment will never be sent again
        self._in_flight_again = False
        self._last_arrival = 0
        # The messages that were sent last and are in flight: more can join them.
        self._joinable: list[tuple[Any, int]] | None = None
        self._rto = FIRST_RTO
        self._retries = 0
        self._timer = 0
        self._timer_runs = False
        self._eof_sent = False
        self._awaiting_writable = False
        # Receiving.
        self._slow_in = True  # whether arrivals must take the slow path
        self._started = False  # whether the program has taken it over
        self._paused = False
        self._held: deque[Segment] = deque()
        self._held_bytes = 0
        self._eof_taken = False
        self._drain_due = False
        self._draining = False
        # Ending.
        self._closed = False  # the program has closed it
        self._closing_told = False
        self._over = False  # the kernel has forgotten the connection
        self._broken = False  # connection_lost has been called, or is due in ``_held``
        self._error = 0

    def join(self, peer: "Connection") -> None:
        """Connect the two ends."""
        self._peer = peer
        peer._peer = self
        self._arrive_at_peer = peer._arrive
        peer._arrive_at_peer = self._arrive
        self._messages_arrive_at_peer = peer._arrive_messages
        peer._messages_arrive_at_peer = self._arrive_messages
        self._out.senders[self] = None
        self._back.senders[peer] = None

    def lead_through(self, link: "Link") -> None:
        """Make what arrives at either end pass a gate."""
        self.link = self._peer.link = link

    def __repr__(self) -> str:
        state = "over" if self._over else "closed" if self._closed else "open"
        return f"<connection {self.identity} {self.local} -> {self.remote} {state}>"

    # -- sending: what the program calls ---------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes, in order. What the buffers have no room for is kept and sent later."""
        if type(data) is not bytes:
            data = bytes(data)
        size = len(data)
        out = self._out
        if (
            self._slow_out
            or out.troubled
            or size > LARGEST_SEGMENT
            or self._flying + self._peer._held_bytes + size > RECEIVE_BUFFER
            or not size
        ):
            self._write_slowly(data)
            return
        self._flying += size
        self._joinable = None
        simulator = self._simulator
        chance = self._random()
        time = simulator.now + out.shortest + int(chance * chance * chance * out.spread)
        if time < self._last_arrival:
            time = self._last_arrival
        else:
            self._last_arrival = time
        simulator.call_at(time, self._arrive_at_peer, data)

    def write_message(self, message: Any, size: int) -> None:
        """Send an object that arrives whole or not at all, as if it had ``size`` bytes.

        A message that can still arrive together with those before it does so, in one event, as
        with a network card that does not raise an interrupt for each (interrupt coalescing).
        """
        out = self._out
        if (
            self._slow_out
            or out.troubled
            or self._flying + self._peer._held_bytes + size > RECEIVE_BUFFER
        ):
            if not self._eof_sent and not self._over:
                self._enqueue(Message(message, size))
                self._pump()
            return
        self._flying += size
        simulator = self._simulator
        earliest = simulator.now + out.shortest
        joinable = self._joinable
        if joinable is not None and self._last_arrival >= earliest:
            joinable.append((message, size))
            return
        chance = self._random()
        time = earliest + int(chance * chance * chance * out.spread)
        if time < self._last_arrival:
            time = self._last_arrival
        else:
            self._last_arrival = time
        self._joinable = messages = [(message, size)]
        simulator.call_at(time, self._messages_arrive_at_peer, messages)

    def write_eof(self) -> None:
        """Send the end of the stream after all kept bytes; receiving goes on (``SHUT_WR``)."""
        if not self._eof_sent and not self._over:
            self._enqueue(FIN)
            self._eof_sent = True
            self._pump()

    def unsent(self) -> int:
        """How many bytes are kept because the buffers have no room; for back pressure."""
        return max(0, self._flying + self._queued - SEND_BUFFER)

    def untaken(self) -> int:
        """How many bytes were written here and have not been taken by the other program."""
        return self._flying + self._queued + self._peer._held_bytes

    def kept(self) -> int:
        """How many bytes are kept for that: those, and what a gate on the way keeps."""
        return self.untaken() + (0 if self.link is None else self.link.kept(self._peer))

    def wait_writable(self) -> None:
        """Have ``receiver.writable()`` called (if it has one) once ``unsent`` is 0."""
        self._awaiting_writable = True
        self._relieve()

    # -- sending: the kernel's part --------------------------------------------------------

    def _write_slowly(self, data: bytes) -> None:
        if not data or self._eof_sent or self._over:
            return
        for place in range(0, len(data), LARGEST_SEGMENT):
            chunk = data[place : place + LARGEST_SEGMENT]
            for part in self._out.fragments(chunk):
                self._enqueue(part)
        self._pump()

    def _enqueue(self, segment: Segment) -> None:
        self._queue.append(segment)
        self._queued += size_of(segment)

    def _pump(self) -> None:
        """Send as much of the queue as the receiver has room for."""
        queue = self._queue
        room = RECEIVE_BUFFER - self._flying - self._peer._held_bytes
        while queue and not self._retries:
            segment = queue[0]
            size = size_of(segment)
            if size > room and room < RECEIVE_BUFFER:
                break
            queue.popleft()
            room -= size
            self._queued -= size
            self._flying += size
            self._transmit(segment, size)
        self._slow_out = bool(queue or self._retries or self._eof_sent or self._over)
        if queue and not self._flying:
            self.probe_if_cut()
        self._relieve()

    def _transmit(self, segment: Segment, size: int) -> None:
        self._joinable = None
        simulator = self._simulator
        out = self._out
        arrive: Callable[[Any], None] = self._peer._arrive_slowly
        if not out.troubled:
            latency = out.latency()
        else:
            latency = out.troubled_latency(simulator.now, size)
            if out.loses():
                # Takes effect at the arrival time, after what is in flight before it.
                arrive = self._lose
        self._last_arrival = max(self._last_arrival, simulator.now + latency)
        simulator.call_at(self._last_arrival, arrive, segment)

    def _lose(self, segment: Segment) -> None:
        self._peer._slow_in = True
        if self._over:
            self._gap = True
        else:
            self._lost.append((segment, False))
            self._start_timer()

    def _start_timer(self) -> None:
        if not self._timer_runs:
            self._timer_runs = True
            self._timer += 1
            self._simulator.call_after(self._rto, self._time_out, self._timer)

    def _time_out(self, timer: int) -> None:
        """Retransmit what was lost, or probe whether the receiver has room again."""
        if timer != self._timer or self._over:
            return
        self._timer_runs = False
        if not (self._lost or self._unacknowledged or (self._queue and not self._flying)):
            return
        if self._in_flight_again:
            self._start_timer()
            return
        if self._retries == MOST_RETRIES:
            self._fail(errno.ETIMEDOUT)
            return
        self._retries += 1
        self._slow_out = True
        self._rto = min(2 * self._rto, LONGEST_RTO)
        out = self._out
        if out.cut or self._peer_is_down():
            out.dropped += 1
        else:
            passing = 0
            size = 0
            for segment, arrived in self._lost:
                if not arrived:
                    if out.loses():
                        break
                    size += size_of(segment)
                passing += 1
            if passing or not self._lost:
                self._in_flight_again = True
                latency = out.troubled_latency(self._simulator.now, size)
                self._simulator.call_after(latency, self._arrive_again, passing)
        self._start_timer()

    def _arrive_again(self, passing: int) -> None:
        """A retransmission arrives: of the first ``passing`` segments from the gap on."""
        self._in_flight_again = False
        if self._over:
            return
        if self._out.cut or self._peer_is_down():
            self._out.dropped += 1
            return
        peer = self._peer
        if peer._over:
            peer._reset_peer()
            return
        segments: list[Segment] = []
        size = 0
        lost = self._lost
        while lost and (passing or lost[0][1]):
            segment = lost.popleft()[0]
            passing = max(0, passing - 1)
            size += size_of(segment)
            if isinstance(segment, bytes) and segments and isinstance(segments[-1], bytes):
                joined = segments[-1] + segment
                if len(joined) <= LARGEST_SEGMENT:
                    segments[-1] = joined
                    continue
            segments.append(segment)
        peer._refresh_slow_in()
        for segment in segments:
            peer._receive(segment)
        self._acknowledge(size)

    def _acknowledge(self, size: int) -> None:
        """``size`` bytes have arrived at the peer; take its acknowledgement unless it is lost."""
        if self._over:
            return
        back = self._back
        if back.cut:
            back.dropped += 1
            self._unacknowledged += size
            if size or self._retries:
                self._start_timer()
            return
        self._flying -= size + self._unacknowledged
        self._unacknowledged = 0
        if self._timer_runs or self._retries:
            self._timer += 1
            self._timer_runs = False
            self._retries = 0
            self._rto = FIRST_RTO
            if self._lost:
                self._start_timer()
        self._pump()

    def _window_update(self, _: object = None) -> None:
        if not self._over:
            self._pump()

    def probe_if_cut(self) -> None:
        """Probe the receiver's window if data wait for room and a window update may be lost."""
        if self._queue and not self._flying and (self._out.cut or self._back.cut):
            self._start_timer()

    def _relieve(self) -> None:
        """Tell the program that it may write again, or that ``close`` is done, if so."""
        if not (self._awaiting_writable or self._closed) or self.unsent():
            return
        if self._awaiting_writable and not self._closed:
            self._awaiting_writable = False
            self._simulator.call_after(0, self._post, self._tell_writable)
        if self._closed and not self._closing_told:
            self._closing_told = True
            self._simulator.call_after(0, self._post, self._tell_closed)

    def _post(self, callback: Callable[[], None]) -> None:
        self._process.post(callback)

    def _tell_writable(self) -> None:
        writable = getattr(self.receiver, "writable", None)
        if writable is not None and not self._closed and not self._over:
            writable()

    def _tell_closed(self) -> None:
        self._tell_lost(None)

    # -- receiving -------------------------------------------------------------------------

    def _arrive(self, data: bytes) -> None:
        """Bytes arrive (fast path, for undisturbed connections)."""
        peer = self._peer
        if self._slow_in or self._back.cut or self._out.cut or self._process.frozen:
            self._arrive_slowly(data)
            return
        peer._flying -= len(data)
        if peer._slow_out:
            peer._pump()
        if self.link is not None:
            passed = self.link.pass_segment(self, data)
            if passed is not None:
                self._deliver(passed)
            return
        self._note(adler32(data))
        self.receiver.data_received(data)

    def _arrive_messages(self, messages: list[tuple[Any, int]]) -> None:
        """Messages arrive (fast path, as in ``_arrive``)."""
        peer = self._peer
        if peer._joinable is messages:
            peer._joinable = None
        for message, size in messages:
            # Checked each time: the message before may have changed it.
            if self._slow_in or self._back.cut or self._out.cut or self._process.frozen:
                self._arrive_slowly(Message(message, size))
                continue
            peer._flying -= size
            if peer._slow_out:
                peer._pump()
            self._note(size)
            self.receiver.data_received(message)

    def _arrive_slowly(self, segment: Segment) -> None:
        sender = self._peer
        if sender._over and not (self._over or self._closed):
            # It was sent before the sender's end was over, and will not be sent again.
            if self._back.cut:
                sender._lose(segment)
            elif not sender._gap:
                self._receive(segment)
            return
        if self._back.cut or self._network.is_down(self.local[0]):
            self._back.dropped += 1
            sender._lose(segment)
            return
        if sender._lost:
            sender._lost.append((segment, True))
            return
        if self._over:
            self._reset_peer()
            return
        self._receive(segment)  # before acknowledging, so that the room left is known
        sender._acknowledge(size_of(segment))

    def _receive(self, segment: Segment) -> None:
        """Take the next segment in order."""
        if self.link is not None and not isinstance(segment, Message):
            passed = self.link.pass_segment(self, segment)
            if not passed:
                return
            segment = passed
        self.take_in(segment)

    def take_in(self, segment: Segment) -> None:
        """Give a segment to the program, or keep it until the program wants it."""
        if segment is FIN:
            self._eof_taken = True
        if segment is HELLO:
            self._greet()
        elif self._closed:
            if segment is FIN:
                self._forget()
            elif segment is not BROKEN:
                self._reset_peer()
                self.vanish()
        elif self._held or self._paused or not self._started or self._process.frozen:
            self._held.append(segment)
            self._held_bytes += size_of(segment)
            self._slow_in = True
            if not self._paused:
                self._schedule_drain()
        else:
            self._deliver(segment)

    def _deliver(self, segment: Segment) -> None:
        if isinstance(segment, bytes):
            self._note(adler32(segment))
            self.receiver.data_received(segment)
        elif isinstance(segment, Message):
            self._note(segment.size)
            self.receiver.data_received(segment.body)
        else:
            self._note(segment.name)
            if segment is FIN:
                self.receiver.eof_received()
            else:
                self._tell_lost(OSError(self._error, os.strerror(self._error)))

    def pause_reading(self) -> None:
        """Stop receiving; the other side fills the buffers, and then keeps its data."""
        self._paused = True
        self._slow_in = True

    def resume_reading(self) -> None:
        """Receive again."""
        if self._paused:
            self._paused = False
            self._refresh_slow_in()
            if self._held:
                self._schedule_drain()

    def put_back(self, data: bytes) -> None:
        """Not take the end of what was received last: it comes again. Reading has been paused."""
        self._held.appendleft(data)
        self._held_bytes += len(data)

    def _schedule_drain(self) -> None:
        if not self._drain_due and self._started:
            self._drain_due = True
            if self._process.frozen:
                self._process.post(self._drain)
            else:
                self._simulator.call_after(0, self._post, self._drain)

    def _drain(self) -> None:
        """Give the program what was kept for it."""
        self._drain_due = False
        if self._draining:
            return
        self._draining = True
        held = self._held
        while held and not self._paused and not self._closed and not self._process.frozen:
            segment = held.popleft()
            self._held_bytes -= size_of(segment)
            self._deliver(segment)
        self._draining = False
        self._refresh_slow_in()
        if held and not self._paused and not self._closed:
            self._schedule_drain()
        sender = self._peer
        if sender._queue and not sender._over:
            if self._out.cut:
                sender.probe_if_cut()
            else:
                self._simulator.call_after(self._out.latency(), sender._window_update)

    def _refresh_slow_in(self) -> None:
        self._slow_in = bool(
            self._paused
            or self._held
            or not self._started
            or self._closed
            or self._over
            or self._peer._lost
            or self._peer._gap
        )

    # -- beginning -------------------------------------------------------------------------

    def begin(self, receiver_factory: Callable[["Connection"], "Receiver"]) -> None:
        """Have the program take the connection over; after the thaw if it is frozen."""
        self._process.post(self._start, receiver_factory)

    def greet(self) -> None:
        """Send the last part of the handshake."""
        self._transmit(HELLO, 0)

    def await_greeting(self, listener: "Listener") -> None:
        """Have the listener's program take the connection over once the handshake is done."""
        self._listener = listener

    def _greet(self) -> None:
        listener, self._listener = self._listener, None
        if listener is None or listener.closed:
            self._reset_peer()
            self.vanish()
        else:
            self.begin(listener.accept)

    def _start(self, receiver_factory: Callable[["Connection"], "Receiver"]) -> None:
        if self._closed or (self._over and not self._broken):
            return
        self._started = True
        self.receiver = receiver_factory(self)
        self._refresh_slow_in()
        if self._held:
            self._schedule_drain()

    # -- ending ----------------------------------------------------------------------------

    def close(self) -> None:
        """Send all kept bytes, then the end of the stream; nothing is received any more.

        If received bytes have not been read by the program, the connection is reset, as Linux
        does (RFC 2525, 2.17).
        """
        if self._closed:
            return
        if any(not isinstance(segment, Mark) for segment in self._held):
            self.abort()
            return
        self._closed = True
        self._slow_in = True
        self._leave()
        if not self._over:
            self.write_eof()
            if self._eof_taken:
                self._forget()
        self._relieve()

    def abort(self) -> None:
        """Reset the connection: kept bytes are lost, the other side gets ``ECONNRESET``."""
        if not self._closed:
            self._closed = True
            self._leave()
            if not self._over:
                self._reset_peer()
            self.vanish()
            self._relieve()

    def discard(self) -> None:
        """Reset the connection at once, and both ends forget all bytes, whoever has closed it."""
        for end in (self, self._peer):
            broken = BROKEN in end._held
            end._held.clear()
            end._held_bytes = 0
            if broken:
                end._held.append(BROKEN)
            end.resume_reading()
            if end.link is not None:
                end.link.pass_reset(end)
            end.break_off_reset()

    def end_with_process(self) -> None:
        """The program has died: its kernel sends what is in the send buffer, then closes.

        A connection that the program has not accepted yet is reset.
        """
        if not self._started:
            self.abort()
            return
        while self._queue and self.unsent():  # what is not in the kernel's send buffer is lost
            surplus = self.unsent()
            segment = self._queue.pop()
            self._queued -= size_of(segment)
            if isinstance(segment, bytes) and surplus < len(segment):
                self._enqueue(segment[: len(segment) - surplus])
        self._held = deque(segment for segment in self._held if segment is not BROKEN)
        self.close()

    def vanish(self) -> None:
        """The kernel forgets the connection and sends nothing: after a power failure or reset."""
        self._over = True
        self._slow_in = True
        self._slow_out = True
        self._queue.clear()
        self._queued = 0
        self._flying = 0
        self._gap = self._gap or bool(self._lost)
        self._lost.clear()
        peer = self._peer
        peer._refresh_slow_in()
        if peer._queue and not peer._over:  # it waits for room: let it probe, and find out
            peer._start_timer()
        self._forget()

    def _leave(self) -> None:
        """The program does not use the connection any more."""
        self._network.forget_socket(self._process, self)
        if self.link is not None:
            self.link.left(self)

    def _forget(self) -> None:
        self._out.senders.pop(self, None)

    def _peer_is_down(self) -> bool:
        return self._network.is_down(self.remote[0])

    def _reset_peer(self) -> None:
        """Send a reset; it is never retransmitted."""
        if self._out.loses():
            return
        simulator = self._simulator
        self._last_arrival = max(self._last_arrival, simulator.now + self._out.latency())
        simulator.call_at(self._last_arrival, self._peer.be_reset)

    def be_reset(self, _: object = None) -> None:
        """A reset arrives."""
        if self._back.cut:
            self._back.dropped += 1
        elif self.link is None or self.link.pass_reset(self):
            self.break_off(errno.ECONNRESET)

    def break_off_reset(self, _: object = None) -> None:
        """End the connection as if a reset had arrived, even through cuts and gates."""
        self._fail(errno.ECONNRESET)

    def is_over(self) -> bool:
        """Whether this end is gone for its kernel (reset, failed or vanished)."""
        return self._over

    def break_off(self, error: int) -> None:
        """End the connection with an error number (``errno``), which the program is told."""
        self._fail(error)

    def _fail(self, error: int) -> None:
        if self._over:
            return
        self.vanish()
        self._error = error
        if not self._closed and not self._broken:
            self._broken = True
            self.take_in(BROKEN)

    def _tell_lost(self, error: OSError | None) -> None:
        if self.receiver is NOBODY:
            return
        receiver, self.receiver = self.receiver, NOBODY
        self._closed = True
        self._slow_in = True
        self._leave()
        receiver.connection_lost(error)
