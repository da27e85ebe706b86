"""Makes listeners of a simulated world reachable from real clients, in real time.

Virtual time follows the wall clock, and bytes go both ways between real connections and simulated
ones, with back pressure. One thread does it all: the one that made the world. No other module of
the simulation uses a real clock or real sockets.
"""

import errno
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.network.transport import Receiver, Transport

LOOPBACK = "127.0.0.1"
CHUNK = 64 * 1024
LONGEST_WAIT = 1_000_000_000
MOST_LATE = 100_000_000
"""Where this thread is later than planned by more nanoseconds, virtual time stands still for the
rest: no session expires only because the machine or the process stalls."""
LONGEST_TURN = 10_000_000
"""After so many nanoseconds of computing the real sockets are looked at again, though the world is
behind: who causes much work does not hold up the others until all of it is done."""
EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Why a connection cannot be accepted yet: the host, or this process, has no room for it."""
EXHAUSTED_NS = 100_000_000
"""How long (ns) no connection is accepted then."""
RESET_AT_CLOSE = struct.pack("ii", 1, 0)

World = tuple[Simulator, Network, Sequence[tuple[str, int]]]
"""A simulator, its network, and the simulated addresses that real clients can reach."""


T = TypeVar("T")


class WorldEnded(RuntimeError):  # noqa: N818 - says what has happened
    """The simulated world has ended, so nothing can be asked of it any more."""


class RealSockets:
    """Serves addresses of a world on ports of this machine.

    Args:
        simulator: the world, made by the thread that will call ``run``.
        network: the network of that world.
        addresses: simulated hosts and ports that real clients can reach.
        ports: the real ports, one for each address; by default any free ones.

    Raises:
        OSError: a port is taken; its number stands in ``filename``.
    """

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        addresses: Sequence[tuple[str, int]],
        ports: Sequence[int] | None = None,
    ) -> None:
        self.simulator = simulator
        self.network = network
        self.outside = simulator.process("outside", LOOPBACK)
        """The simulated process that stands for all real clients."""
        self.selector = selectors.DefaultSelector()
        self.bridges: dict[Bridge, None] = {}
        """Real connections that are open."""
        self._calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._stopping = False
        self._lock = threading.Lock()
        self._asked: set[Future[Any]] = set()
        self.ended = threading.Event()
        """Set when the world has ended."""
        self._waker, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self.selector.register(self._woken, selectors.EVENT_READ, self._wake_up)
        self._listeners: list[socket.socket] = []
        try:
            for address, port in zip(addresses, ports or [0] * len(addresses), strict=True):
                self._listen(address, port)
        except OSError:
            self.close()
            raise
        self.ports = [listener.getsockname()[1] for listener in self._listeners]
        """The real ports, in the order of the addresses."""

    @property
    def hosts(self) -> str:
        """All real addresses, as a ZooKeeper connection string."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self.ports)

    def run(self) -> None:
        """Run the world in step with the wall clock until ``stop`` is called.

        Raises:
            Exception: whatever ends the world.
        """
        simulator = self.simulator
        turn = time.monotonic_ns()
        ahead = simulator.now - turn
        while not self._stopping:
            due = simulator.due()
            before = time.monotonic_ns()
            ahead -= max(0, before - turn - MOST_LATE)
            now = before + ahead
            wait = LONGEST_WAIT if due is None else min(max(0, due - now), LONGEST_WAIT)
            ready = self.selector.select(wait / 1e9)
            turn = time.monotonic_ns()
            ahead -= max(0, turn - before - wait - MOST_LATE)
            self._catch_up(turn + ahead)
            ahead -= max(0, turn + ahead - simulator.now - MOST_LATE)
            for key, events in ready:
                key.data(events)

    def _catch_up(self, time_reached: int) -> None:
        """Run the world until a virtual time (ns), or as far as it gets in one turn."""
        simulator = self.simulator
        ends = time.monotonic_ns() + LONGEST_TURN
        while (due := simulator.due()) is not None and due < time_reached:
            simulator.run(due)
            if time.monotonic_ns() > ends:
                return
        simulator.run(max(simulator.now, time_reached))

    def call(self, function: Callable[[], object]) -> None:
        """Have the world's thread call a function. May be called from any thread."""
        self._calls.put(function)
        self._waker.send(b"!")

    def ask(self, function: Callable[[], T]) -> T:
        """Have the world's thread call a function; what it returns. For any other thread.

        Raises:
            WorldEnded: the world had ended, or ended before the function was called.
            Exception: whatever the function raises.
        """
        answer: Future[T] = Future()

        def give() -> None:
            try:
                value = function()
            except Exception as error:  # raised again in the other thread
                answer.set_exception(error)
            else:
                answer.set_result(value)

        with self._lock:
            if self.ended.is_set():
                raise WorldEnded("the simulated servers have ended")
            self._asked.add(answer)
            self.call(give)
        try:
            return answer.result()
        finally:
            with self._lock:
                self._asked.discard(answer)

    def stop(self) -> None:
        """Let ``run`` return. May be called from any thread."""
        self.call(self._stop)

    def close(self) -> None:
        """Close all real sockets; who waits for an answer is told that there will be none."""
        with self._lock:
            self.ended.set()
            for answer in self._asked:
                if not answer.done():
                    answer.set_exception(WorldEnded("the simulated servers have ended"))
        for bridge in list(self.bridges):
            bridge.close(reset=True)
        for listener in self._listeners:
            listener.close()
        self._waker.close()
        self._woken.close()
        self.selector.close()

    def _stop(self) -> None:
        self._stopping = True

    def _wake_up(self, _: int) -> None:
        count = len(self._woken.recv(CHUNK))
        for _call in range(count):
            self._calls.get_nowait()()

    def _listen(self, address: tuple[str, int], port: int) -> None:
        listener = socket.socket()
        self._listeners.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            error.filename = port
            raise
        listener.listen(128)
        listener.setblocking(False)
        self._await_clients(listener, address)

    def _await_clients(self, listener: socket.socket, address: tuple[str, int]) -> None:
        self.selector.register(
            listener, selectors.EVENT_READ, lambda _: self._accept(listener, address)
        )

    def _accept(self, listener: socket.socket, address: tuple[str, int]) -> None:
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # the client has gone again
            return
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            # The client waits in the listener's queue, which would be reported without a pause.
            self.selector.unregister(listener)
            self.simulator.call_after(
                EXHAUSTED_NS, lambda _: self._await_clients(listener, address)
            )
            return
        bridge = Bridge(self, accepted)
        self.bridges[bridge] = None
        self.network.connect(self.outside, address, bridge.opened, bridge.failed)


class Bridge:
    """Joins a real connection to a simulated one, and is the simulated one's ``Receiver``."""

    def __init__(self, server: RealSockets, real: socket.socket) -> None:
        real.setblocking(False)
        real.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server = server
        self._real = real
        self._transport: Transport | None = None
        self._full = False  # whether the real side takes no more bytes for now
        self._reading = False  # whether more is wanted from the real side
        self._real_ended = False
        self._ended = False  # the simulated side will send nothing more
        self._closed = False
        self._watched = 0

    # -- the simulated side -------------------------------------------------------------------

    def opened(self, transport: Transport) -> Receiver:
        """The simulated connection is established."""
        self._transport = transport
        self._reading = True
        if self._closed:
            transport.abort()
        self._watch()
        return self

    def failed(self, _: OSError) -> None:
        """The simulated connection was refused or timed out: reset the real one."""
        self.close(reset=True)

    def data_received(self, data: Any) -> None:
        """Bytes for the real side. What it does not take now stays in the simulated connection."""
        if self._closed:
            return
        try:
            sent = self._real.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:  # the real client has gone
            self.close(reset=True)
            return
        if sent < len(data):
            assert self._transport is not None
            self._full = True
            self._transport.pause_reading()
            self._transport.put_back(data[sent:])
            self._watch()

    def eof_received(self) -> None:
        """The simulated side sends no more: end the real side's stream."""
        self._ended = True
        if self._closed:
            return
        try:
            self._real.shutdown(socket.SHUT_WR)
        except OSError:  # the real client has gone
            self.close(reset=True)
        self._finish()

    def connection_lost(self, error: OSError | None) -> None:
        """The simulated connection has ended."""
        if error is not None:
            self.close(reset=True)

    def writable(self) -> None:
        """The simulated side has room again: read from the real one."""
        self._reading = True
        self._watch()

    # -- the real side ------------------------------------------------------------------------

    def close(self, *, reset: bool = False) -> None:
        """Close both sides, in an orderly way or by a reset."""
        if self._closed:
            return
        self._closed = True
        self._watch()
        if reset:
            self._real.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self._real.close()
        self._server.bridges.pop(self, None)
        if self._transport is not None:
            if reset:
                self._transport.abort()
            else:
                self._transport.close()

    def _ready(self, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._go_on()
        if events & selectors.EVENT_READ and self._reading and not self._closed:
            self._receive()

    def _receive(self) -> None:
        transport = self._transport
        assert transport is not None
        try:
            data = self._real.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:  # the real client has reset it: reset the simulated one, too
            self.close(reset=True)
            return
        if data:
            transport.write(data)
            if transport.unsent():
                self._reading = False
                transport.wait_writable()
        else:
            self._real_ended = True
            self._reading = False
            transport.write_eof()
        self._finish()

    def _go_on(self) -> None:
        """The real side has room again: receive from the simulated one."""
        if self._transport is not None and not self._closed:
            self._full = False
            self._transport.resume_reading()
            self._watch()

    def _finish(self) -> None:
        if self._real_ended and self._ended:
            self.close()
        self._watch()

    def _watch(self) -> None:
        """Have the selector watch the real socket for what this bridge can do now."""
        wanted = 0
        if not self._closed:
            wanted = (selectors.EVENT_READ if self._reading else 0) | (
                selectors.EVENT_WRITE if self._full else 0
            )
        if wanted == self._watched:
            return
        selector = self._server.selector
        if not wanted:
            selector.unregister(self._real)
        elif self._watched:
            selector.modify(self._real, wanted, self._ready)
        else:
            selector.register(self._real, wanted, self._ready)
        self._watched = wanted


@contextmanager
def serve_in_thread(
    build: Callable[[], World], ports: Sequence[int] | None = None
) -> Iterator[RealSockets]:
    """Serve a world from a new thread while the ``with`` block runs.

    Args:
        build: makes the world, in that thread.
        ports: the real ports, one for each address; by default any free ones.

    Yields:
        The server; other threads may use its ``ports``, ``hosts`` and ``call``.

    Raises:
        Exception: whatever ended the world, or kept it from starting.
    """
    began: SimpleQueue[RealSockets | None] = SimpleQueue()
    errors: list[BaseException] = []

    abandoned = threading.Event()

    def serve() -> None:
        try:
            if abandoned.is_set():
                return
            simulator, network, addresses = build()
            try:
                server = RealSockets(simulator, network, addresses, ports)
                try:
                    began.put(server)
                    server.run()
                finally:
                    server.close()
            finally:
                simulator.close()
        except BaseException as error:  # raised again in the other thread
            errors.append(error)
        finally:
            began.put(None)

    thread = threading.Thread(target=serve, name="simulated world", daemon=True)
    starting = True
    server = None
    try:
        thread.start()
        server = began.get()
        starting = False
        if server is not None:
            yield server
    finally:
        if starting:  # interrupted: what is being made is ended, too
            abandoned.set()
            if thread.ident is not None:
                server = began.get()
        if server is not None:
            with suppress(OSError):  # the world has ended by itself: ``errors`` says why
                server.stop()
        if thread.ident is not None:
            thread.join()
        if errors:
            raise errors[0]
