"""The test's own ends of simulated links: sockets that let the world go on while they wait."""

from rumpus.harness.simulated.links import SimLinks
from rumpus.simulation.kernel.clock import BOOT
from rumpus.simulation.kernel.simulator import MILLISECOND, Simulator
from rumpus.simulation.network.network import Network
from tests.harness.wires import Wires

PATIENCE = 20_000 * MILLISECOND
TURN = 2 * MILLISECOND


class SimSocket:
    def __init__(self, wires, transport):
        self._wires = wires
        self._transport = transport
        self._data = b""
        self._ended = False
        self._reset = False

    # -- the receiver ----------------------------------------------------------------------

    def data_received(self, data):
        self._data += data

    def eof_received(self):
        self._ended = True

    def connection_lost(self, error):
        self._reset = isinstance(error, ConnectionResetError)

    # -- the socket ------------------------------------------------------------------------

    def sendall(self, data):
        self._transport.write(data)
        self._wires.turn()

    def recv(self, size):
        self._wires.eventually(lambda: self._data or self._ended or self._reset)
        if self._reset and not self._data:
            raise ConnectionResetError
        data, self._data = self._data[:size], self._data[size:]
        return data

    def close(self):
        self._transport.close()
        self._wires.turn()

    def quiet(self):
        return not (self._data or self._ended or self._reset)


class SimWires(Wires):
    """The links are gates in a simulated network."""

    def __init__(self, clients=2):
        self.simulator = Simulator(7)
        self.network = Network(self.simulator)
        self._waiting = {node: [] for node in self.nodes}
        self._listeners = {}
        for node in self.nodes:
            self._listeners[node] = self.network.listen(
                self.simulator.process(node), 2181, lambda t, n=node: self._accepted(n, t)
            )
        self._processes = [self.simulator.process(f"c{client}") for client in range(clients)]
        servers = {node: (node, 2181) for node in self.nodes}
        self.links = SimLinks(self.simulator, self.network, servers, clients)

    def turn(self, nanoseconds=TURN):
        self.simulator.run(until=self.simulator.now + nanoseconds)

    def monotonic_ns(self):
        return BOOT + self.simulator.now

    def dial(self, client=0, node="n1"):
        made = []
        self.network.connect(
            self._processes[client],
            self.links.address(client, node),
            lambda transport: made.append(SimSocket(self, transport)) or made[0],
            made.append,
        )
        self.eventually(lambda: made)
        if isinstance(made[0], OSError):
            raise made[0]
        return made[0]

    def accept(self, node="n1"):
        self.eventually(lambda: self._waiting[node])
        return self._waiting[node].pop(0)

    def nobody_called(self, node="n1"):
        self.turn()
        return not self._waiting[node]

    def close(self):
        self.links.close()
        self.simulator.close()

    def silent(self, sock):
        self.turn()
        return sock.quiet()

    def eventually(self, condition):
        deadline = self.simulator.now + PATIENCE
        while not condition():
            assert self.simulator.now < deadline, "it never came true"
            self.turn()

    def _accepted(self, node, transport):
        sock = SimSocket(self, transport)
        self._waiting[node].append(sock)
        return sock
