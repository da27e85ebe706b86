"""Opening a connection: an attempt to reach a listener, perhaps through a gate."""

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from rumpus.simulation.network.connection import Connection
from rumpus.simulation.network.gate import Gate, Link
from rumpus.simulation.network.listener import Listener
from rumpus.simulation.network.surroundings import Surroundings

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Process
    from rumpus.simulation.network.transport import Receiver, Transport

FIRST_SYN_RETRY = 1_000_000_000
MOST_SYN_RETRIES = 6
"""Linux's ``tcp_syn_retries``. The attempt fails when the last is unanswered, after 127 s."""


class Attempt:
    """An attempt to connect; made by ``Network.connect``.

    A SYN that gets no answer is sent again after 1, 2, 4 ... seconds.
    """

    __slots__ = (
        "_address",
        "_done",
        "_failed",
        "_local",
        "_network",
        "_process",
        "_receiver_factory",
        "_retries",
        "identity",
    )

    def __init__(
        self,
        network: Surroundings,
        process: "Process",
        local: tuple[str, int],
        address: tuple[str, int],
        receiver_factory: "Callable[[Transport], Receiver]",
        failed: Callable[[OSError], None],
        timeout: int | None,
    ) -> None:
        self._network = network
        self._process = process
        self._local = local
        self._address = address
        self._receiver_factory = receiver_factory
        self._failed = failed
        self._retries = 0
        self._done = False
        self.identity = process.simulator.identity()
        if timeout is not None:
            process.call_later(timeout, self._fail, errno.ETIMEDOUT)
        self._send_syn()

    def cancel(self) -> None:
        """Give up; neither callback is called any more."""
        if not self._done:
            self._done = True
            self._network.forget_socket(self._process, self)

    def end_with_process(self) -> None:
        """The program has died."""
        self.cancel()

    def vanish(self) -> None:
        """The host has lost power."""
        self.cancel()

    def _send_syn(self, _: object = None) -> None:
        if self._done:
            return
        if self._retries > MOST_SYN_RETRIES:
            self._fail(errno.ETIMEDOUT)
            return
        simulator = self._process.simulator
        out = self._network.path(self._local[0], self._address[0])
        if not out.loses():
            latency = out.troubled_latency(simulator.now, 0)
            simulator.call_after(latency, self._syn_arrives)
        simulator.call_after(FIRST_SYN_RETRY << self._retries, self._send_syn)
        self._retries += 1

    def _syn_arrives(self, _: object = None) -> None:
        network = self._network
        out = network.path(self._local[0], self._address[0])
        if self._done:
            return
        if out.cut or network.is_down(self._address[0]):
            out.dropped += 1
            return
        back = network.path(self._address[0], self._local[0])
        if back.loses():
            return
        gate = network.gate_of(self._local[0], self._address)
        answer: Callable[[object], None] = (
            self._established
            if gate is not None or network.listener(self._address) is not None
            else self._refused
        )
        simulator = self._process.simulator
        simulator.call_after(back.troubled_latency(simulator.now, 0), answer)

    def _refused(self, _: object = None) -> None:
        self._fail(errno.ECONNREFUSED)

    def _established(self, _: object = None) -> None:
        """The SYN-ACK arrives: for the client's kernel the connection is established."""
        network = self._network
        if self._done:
            return
        back = network.path(self._address[0], self._local[0])
        if back.cut:
            back.dropped += 1
            return
        listener = network.listener(self._address)
        gate = network.gate_of(self._local[0], self._address)
        process = self._process
        # A gate that admits nobody needs no server behind it; the server's end is then unused.
        other = listener.process if listener is not None else process
        client = Connection(network, process, self._local, self._address, self.identity)
        server = Connection(network, other, self._address, self._local, self.identity)
        client.join(server)
        if gate is not None and not self._pass_gate(gate, client, server, listener):
            self._fail(errno.ECONNREFUSED)
            client.vanish()
            server.vanish()
            return
        self.cancel()
        network.remember_socket(process, client)
        if listener is not None:
            server.await_greeting(listener)
            network.remember_socket(other, server)
        client.begin(self._receiver_factory)
        client.greet()

    def _pass_gate(
        self, gate: Gate, client: Connection, server: Connection, listener: Listener | None
    ) -> bool:
        """Have the gate admit or hold the connection; false if admitted while nobody listens."""
        link = Link(self._process.simulator, gate, client, server)
        link.admitted = gate.admit(link)
        if link.admitted and listener is None:
            return False
        client.lead_through(link)
        gate.links[link] = None
        gate.opened(link)
        return True

    def _fail(self, error: int) -> None:
        if not self._done:
            self.cancel()
            self._process.post(self._failed, OSError(error, os.strerror(error)))
