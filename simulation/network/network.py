"""The network of a world: its listeners, its connections, and the faults between hosts."""

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rumpus.simulation.network.attempt import Attempt
from rumpus.simulation.network.connection import Connection
from rumpus.simulation.network.gate import Gate
from rumpus.simulation.network.listener import Listener
from rumpus.simulation.network.path import Path
from rumpus.simulation.network.surroundings import Socket

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process, World
    from rumpus.simulation.network.transport import Receiver, Transport

MICROSECOND = 1_000
FIRST_EPHEMERAL_PORT = 32768
EPHEMERAL_PORTS = 28232


class Network:
    """Connects the processes of a world. Addresses are pairs of host name and port.

    A fault is set for packets from a ``source`` host to a ``target`` host, in that direction only.
    It lasts until it is ended or replaced, and affects existing and new connections.

    Args:
        simulator: the world.
        shortest: nanoseconds that a packet takes at least between two hosts.
        longest: nanoseconds that it takes at most; most packets take little more than the least.
    """

    def __init__(
        self,
        simulator: "World",
        shortest: int = 50 * MICROSECOND,
        longest: int = 500 * MICROSECOND,
    ) -> None:
        self._simulator = simulator
        self.chance: Callable[[], float] = simulator.random("network").random
        """Random numbers of this network."""
        self._shortest = shortest
        self._longest = longest
        self._paths: dict[tuple[str, str], Path] = {}
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._gates: dict[tuple[str, tuple[str, int]], Gate] = {}
        self._sockets: dict[Process, dict[Socket, None]] = {}
        self._down: dict[str, None] = {}
        self._next_port: dict[str, int] = {}

    # -- connections ------------------------------------------------------------------------

    def listen(
        self,
        process: "Process",
        port: int,
        accept: "Callable[[Transport], Receiver]",
        host: str | None = None,
    ) -> Listener:
        """Accept connections on a port (0: any free one) of a host, by default the process's host.

        ``accept`` is called in the process for each connection and returns its receiver.

        Raises:
            OSError: EADDRINUSE: another listener has the port.
        """
        host = host or process.host
        self.boot_host(host)
        address = (host, port or self.ephemeral_port(host))
        if address in self._listeners:
            raise OSError(errno.EADDRINUSE, f"{host}:{port} is in use already")
        listener = Listener(process, address, accept, self._forget_listener)
        self._listeners[address] = listener
        self.remember_socket(process, listener)
        return listener

    def connect(
        self,
        process: "Process",
        address: tuple[str, int],
        receiver_factory: "Callable[[Transport], Receiver]",
        failed: Callable[[OSError], None],
        timeout: int | None = None,
    ) -> Attempt:
        """Connect to an address; one of the two callbacks is called, in the process, later.

        Args:
            process: the process that connects.
            address: host and port.
            receiver_factory: called with the transport; returns its receiver.
            failed: called with an ``OSError``: ECONNREFUSED or ETIMEDOUT.
            timeout: nanoseconds; None: as long as Linux tries, 127 s.
        """
        self.boot_host(process.host)
        local = (process.host, self.ephemeral_port(process.host))
        attempt = Attempt(self, process, local, address, receiver_factory, failed, timeout)
        self.remember_socket(process, attempt)
        return attempt

    def listener(self, address: tuple[str, int]) -> Listener | None:
        """The listener at an address, if any."""
        return self._listeners.get(address)

    def gate(self, source_host: str, target_address: tuple[str, int]) -> Gate:
        """The gate in the connections from a host to an address; made if there is none yet."""
        return self._gates.setdefault((source_host, target_address), Gate())

    def gate_of(self, source_host: str, target_address: tuple[str, int]) -> Gate | None:
        """The gate in the connections from a host to an address, if one was made."""
        return self._gates.get((source_host, target_address))

    def remove_gate(self, source_host: str, target_address: tuple[str, int]) -> None:
        """Lead connections that are opened from now on through no gate."""
        self._gates.pop((source_host, target_address), None)

    # -- faults -----------------------------------------------------------------------------

    def cut(self, source: str, target: str) -> None:
        """Drop all packets that go from one host to another."""
        with self._fault("cut", source, target) as path:
            path.cut = True
        for sender in [*path.senders, *self.path(target, source).senders]:
            sender.probe_if_cut()

    def mend(self, source: str, target: str) -> None:
        """End all faults of one direction between two hosts."""
        with self._fault("mend", source, target) as path:
            path.mend()

    def partition(self, grudge: Mapping[str, frozenset[str]]) -> None:
        """Have each node (key) drop all packets from the hosts that the grudge maps it to."""
        for node in sorted(grudge):
            for source in sorted(grudge[node]):
                self.cut(source, node)

    def heal(self) -> None:
        """End all faults everywhere. Hosts that are down stay so, and gates stay."""
        self._simulator.trace.append("heal")
        for path in self._paths.values():
            path.mend()

    def lose(self, source: str, target: str, share: float) -> None:
        """Lose a share (0 to 1) of packets."""
        with self._fault("lose", source, target, share) as path:
            path.loss = share

    def delay(self, source: str, target: str, extra: int, jitter: int = 0) -> None:
        """Delay packets by ``extra`` nanoseconds, plus a random time of up to ``jitter``."""
        with self._fault("delay", source, target, extra, jitter) as path:
            path.delay = extra
            path.jitter = jitter

    def rate(self, source: str, target: str, bytes_per_second: int | None) -> None:
        """Limit the bandwidth; packets wait for those before them. None: no limit."""
        with self._fault("rate", source, target, bytes_per_second) as path:
            path.bytes_per_second = bytes_per_second

    def reorder(self, source: str, target: str, share: float) -> None:
        """Make a share of packets late, with all behind them, as if they had been overtaken."""
        with self._fault("reorder", source, target, share) as path:
            path.reordering = share

    def duplicate(self, source: str, target: str, share: float) -> None:
        """Deliver a share of packets twice; TCP drops the second (they are counted)."""
        with self._fault("duplicate", source, target, share) as path:
            path.duplication = share

    def corrupt(self, source: str, target: str, share: float) -> None:
        """Corrupt a share of packets; TCP's checksum detects it, so they are lost."""
        with self._fault("corrupt", source, target, share) as path:
            path.corruption = share

    def fragment(self, source: str, target: str, share: float) -> None:
        """Split writes at random places, each piece again with this probability (below 1)."""
        with self._fault("fragment", source, target, share) as path:
            path.fragmentation = share

    def reset(self, host_a: str, host_b: str) -> None:
        """Reset all connections between two hosts, as a firewall between them can."""
        self._simulator.trace.append(f"reset {host_a} {host_b}")
        for path in (self.path(host_a, host_b), self.path(host_b, host_a)):
            for connection in list(path.senders):
                self._simulator.call_after(0, connection.break_off_reset)

    def crash_host(self, host: str) -> None:
        """Take a host off the network without a word (power failure): no FIN, no RST.

        To be called before its processes are killed. Hosts connected to it notice nothing
        until the host is up again and answers with resets. The host is up again when a process
        listens or connects there, or after ``boot_host``.
        """
        self._simulator.trace.append(f"crash {host}")
        self._down[host] = None
        for process, sockets in list(self._sockets.items()):
            if process.host == host:
                for socket in list(sockets):
                    socket.vanish()
                sockets.clear()

    def boot_host(self, host: str) -> None:
        """Bring a host back to the network."""
        self._down.pop(host, None)

    # -- queries ----------------------------------------------------------------------------

    def is_down(self, host: str) -> bool:
        """Whether a host has crashed and not come back."""
        return host in self._down

    def cuts(self) -> list[tuple[str, str]]:
        """All (source, target) between which packets are dropped, sorted."""
        return sorted(pair for pair, path in self._paths.items() if path.cut)

    def dropped(self, source: str, target: str) -> int:
        """How many packets from one host to another have been lost so far."""
        return self.path(source, target).dropped

    def connections(self, process: "Process") -> list[Connection]:
        """Connections that a process holds open, oldest first."""
        return [
            socket for socket in self._sockets.get(process, {}) if isinstance(socket, Connection)
        ]

    # -- for the parts of the network -------------------------------------------------------

    def path(self, source: str, target: str) -> Path:
        """The path from one host to another."""
        path = self._paths.get((source, target))
        if path is None:
            shortest, longest = self._shortest, self._longest
            if source == target:
                shortest, longest = 10 * MICROSECOND, 50 * MICROSECOND
            else:
                shortest += int(self.chance() * min(shortest, longest - shortest))
            path = Path(source, target, shortest, longest - shortest, self.chance)
            self._paths[source, target] = path
        return path

    def remember_socket(self, process: "Process", socket: Socket) -> None:
        """Have a socket end with its process."""
        sockets = self._sockets.get(process)
        if sockets is None:
            sockets = self._sockets[process] = {}
            process.at_death.append(lambda: self._process_died(process))
        sockets[socket] = None

    def forget_socket(self, process: "Process", socket: Socket) -> None:
        """The socket is closed."""
        sockets = self._sockets.get(process)
        if sockets is not None:
            sockets.pop(socket, None)

    def _forget_listener(self, listener: Listener) -> None:
        self._listeners.pop(listener.address, None)
        self.forget_socket(listener.process, listener)

    def _process_died(self, process: "Process") -> None:
        for socket in list(self._sockets.pop(process, {})):
            socket.end_with_process()

    @contextmanager
    def _fault(self, name: str, source: str, target: str, *details: float | None) -> Iterator[Path]:
        """Give the body a path to set faults on; the trace records their name and details."""
        self._simulator.trace.append(" ".join(map(str, (name, source, target, *details))))
        path = self.path(source, target)
        yield path
        path.refresh()

    def ephemeral_port(self, host: str) -> int:
        """The next of a host's ports for sockets that do not ask for one."""
        number = self._next_port.get(host, 0)
        self._next_port[host] = number + 1
        return FIRST_EPHEMERAL_PORT + number % EPHEMERAL_PORTS
