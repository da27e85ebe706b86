"""Random faults in a cluster while clients write and read, and the checks afterwards."""

import struct

from rumpus.conformance import operations as op
from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster

OPEN_SESSION = struct.pack(">iqiqi16s?", 0, 0, 10_000, 0, 16, bytes(16), False)
PATIENCE = 5 * SECOND


class ChaosClient:
    """Writes nodes of its own one after the other and reads in between, wherever it gets to.

    Attributes:
        acknowledged: paths whose create was answered without an error.
        asked: all paths that it tried to create.
    """

    pause = 20 * MILLISECOND
    """Between an answer and the next request, at most."""

    def __init__(self, world, number):
        self.world = world
        self.simulator = world.simulator
        self.number = number
        self.process = world.simulator.process(f"c{number}")
        self.choose = world.simulator.random(f"client {number}")
        self.acknowledged = []
        self.asked = []
        self.stopped = False
        self.transport = None
        self.life = 0
        self.zxid = 0
        self.counter = None
        self.connect()

    def connect(self):
        self.life += 1
        self.transport = None
        self.buffer = b""
        self.session = 0
        self.zxid_here = 0
        node = self.choose.choice(self.world.cluster.nodes)
        self.process.call_later(PATIENCE, self.give_up, self.life)
        self.world.network.connect(
            self.process, (node, 2181), self.connected, self.failed, 2 * SECOND
        )

    def give_up(self, life):
        if life == self.life and not self.session:
            self.again()

    def failed(self, _):
        self.again()

    def again(self):
        if self.transport is not None:
            self.transport.abort()
            self.transport = None
        self.life += 1
        if not self.stopped:
            self.process.call_later(50 * MILLISECOND, self.connect_if, self.life)

    def connect_if(self, life):
        if life == self.life:
            self.connect()

    def connected(self, transport):
        self.transport = transport
        transport.write(struct.pack(">i", len(OPEN_SESSION)) + OPEN_SESSION)
        return Receiver(self, self.life)

    def frame(self, data):
        if not self.session:
            _, timeout, self.session = struct.unpack_from(">iiq", data)
            assert timeout
        else:
            self.answered(*struct.unpack_from(">iqi", data))
        self.process.call_later(int(self.choose.random() * self.pause), self.ask, self.life)

    def answered(self, xid, zxid, error):
        assert xid == self.xid
        assert zxid >= self.zxid_here, "one server never goes back"
        self.zxid_here = zxid
        if self.pending is not None:
            assert error in (0, -110), error
            if error == 0:
                self.acknowledged.append(self.pending)
        elif self.awaited:
            assert error == 0, f"{self.awaited}: acknowledged here and not there"

    def ask(self, life):
        if life != self.life or self.stopped:
            return
        self.pending = None
        self.awaited = None
        self.xid = len(self.asked) + 1
        if self.choose.random() < 0.6:
            self.pending = f"/c{self.number}-{len(self.asked)}"
            self.asked.append(self.pending)
            operation = op.create(self.pending, b"x" * self.choose.randrange(50))
        else:
            operation = op.exists("/", watch=False)
        body = struct.pack(">ii", self.xid, operation.code) + operation.body
        self.transport.write(struct.pack(">i", len(body)) + body)
        self.process.call_later(PATIENCE, self.unanswered, self.life, self.xid)

    def unanswered(self, life, xid):
        if life == self.life and xid == self.xid and self.choose.random() < 0.5:
            self.again()


class Receiver:
    def __init__(self, client, life):
        self.client = client
        self.life = life

    def data_received(self, data):
        client = self.client
        if self.life != client.life:
            return
        client.buffer += data
        while len(client.buffer) >= 4:
            (length,) = struct.unpack_from(">i", client.buffer)
            if len(client.buffer) < 4 + length:
                return
            frame = client.buffer[4 : 4 + length]
            client.buffer = client.buffer[4 + length :]
            client.frame(frame)

    def eof_received(self):
        self.connection_lost(None)

    def connection_lost(self, _):
        if self.life == self.client.life:
            self.client.again()


class ChaosWorld:
    def __init__(self, seed, count, *, observers=0, clients=3, **settings):
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        settings = {"tick_time": 500, "init_limit": 10, "sync_limit": 4, **settings}
        self.cluster = Cluster(self.simulator, self.network, count, observers=observers, **settings)
        self.choose = self.simulator.random("chaos")
        for node in self.cluster.nodes:
            self.start(node)
        self.run(3)
        for node in self.cluster.nodes:
            # ZooKeeper does not sync its first snapshot, and never starts again without it.
            first = self.cluster.disks[node].open("version-2/snapshot.0")
            first.sync(self.cluster.programs[node].process, lambda _: None)
        self.run(0.1)
        self.clients = [ChaosClient(self, number) for number in range(clients)]

    def start(self, node):
        self.cluster.start([node])

    def run(self, seconds):
        self.simulator.run(self.simulator.now + int(seconds * SECOND))

    # -- faults ---------------------------------------------------------------------------

    def kill(self, node):
        self.cluster.kill(node)

    def power_off(self, node):
        if self.cluster.running(node):
            self.cluster.power_off(node)

    def pause(self, node):
        self.cluster.pause(node)

    def resume(self, node):
        self.cluster.resume(node)

    def isolate(self, node):
        for other in self.cluster.nodes:
            if other != node:
                self.network.cut(node, other)
                self.network.cut(other, node)

    def cut_one_way(self, node):
        other = self.choose.choice([one for one in self.cluster.nodes if one != node])
        self.network.cut(node, other)

    def mute(self, node):
        for other in self.cluster.nodes:
            if other != node:
                self.network.cut(node, other)

    def split(self, _):
        nodes = list(self.cluster.nodes)
        self.choose.shuffle(nodes)
        half = len(nodes) // 2
        for one in nodes[:half]:
            for other in nodes[half:]:
                self.network.cut(one, other)
                self.network.cut(other, one)

    def troubled(self, node):
        for other in self.cluster.nodes:
            if other != node:
                self.network.lose(node, other, self.choose.random() * 0.3)
                self.network.delay(other, node, 0, self.choose.randrange(300) * MILLISECOND)

    def reset(self, node):
        for other in self.cluster.nodes:
            if other != node:
                self.network.reset(node, other)

    def slow_disk(self, node):
        self.cluster.disks[node].slow(extra=self.choose.randrange(1000) * MILLISECOND)

    def mend(self, _):
        self.network.heal()
        for disk in self.cluster.disks.values():
            disk.heal()

    def hurt(self, seconds, faults=None):
        """Inject one fault after the other for so many virtual seconds."""
        faults = faults or [
            self.kill, self.power_off, self.pause, self.resume, self.isolate, self.cut_one_way,
            self.mute, self.split, self.slow_disk, self.mend, self.start, self.start, self.resume,
            self.mend, self.troubled, self.reset,
        ]  # fmt: skip
        end = self.simulator.now + int(seconds * SECOND)
        while self.simulator.now < end:
            self.run(self.choose.random() * 3)
            fault = self.choose.choice(faults)
            node = self.choose.choice(self.cluster.nodes)
            if self.choose.random() < 0.3:
                node = self.cluster.leader() or node
            fault(node)

    def heal(self):
        self.mend(None)
        for node in self.cluster.nodes:
            self.resume(node)
            self.start(node)

    def refusals(self):
        return {
            node: self.cluster.exit_reason(node)
            for node in self.cluster.nodes
            if self.cluster.exit_reason(node)
        }

    # -- what must hold -------------------------------------------------------------------

    def wait_until_all_serve(self, seconds):
        """Returns how long it took, virtual seconds."""
        start = self.simulator.now
        end = start + seconds * SECOND
        while self.simulator.now < end:
            self.run(0.25)
            if all(self.cluster.serves(node) for node in self.cluster.nodes):
                return (self.simulator.now - start) / SECOND
        modes = {node: self.cluster.mode(node) for node in self.cluster.nodes}
        raise AssertionError(f"after {seconds} s: {modes}, {self.refusals()}")

    def settle(self):
        for client in self.clients:
            client.stopped = True
        self.run(5)

    def check(self):
        trees = {
            node: self.cluster.programs[node].server.database.tree for node in self.cluster.nodes
        }
        first = trees["n1"]
        for node, tree in trees.items():
            assert tree.digest() == first.digest(), f"n1 and {node} differ"
            assert sorted(tree.nodes) == sorted(first.nodes)
        for client in self.clients:
            lost = [path for path in client.acknowledged if path not in first.nodes]
            assert not lost, f"acknowledged and lost: {lost}"

    def hurt_and_recover(self, seconds, patience):
        """Inject faults, end them, wait until all servers serve again, and stop the clients."""
        self.hurt(seconds)
        self.heal()
        self.recovery = self.wait_until_all_serve(patience)
        self.run(3)
        self.settle()


def run(seed, count, seconds=60, **how):
    """One round of chaos, from the start until all servers agree; for many seeds."""
    world = ChaosWorld(seed, count, **how)
    try:
        world.hurt_and_recover(seconds, 200)
        world.check()
        world.modes = {node: world.cluster.mode(node) for node in world.cluster.nodes}
        return world
    finally:
        world.simulator.close()
