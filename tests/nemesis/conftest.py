"""A world in memory for the nemesis to break: servers, clients, links and a contended lock.

It keeps the semantics that faults rely on: what is killed is dead until it is restarted, a
leader needs connections to a majority, a holder that cannot speak loses its session, a lost
reply strikes at the next change. Time is virtual and only passes in ``sleep``.
"""

import heapq
import itertools

import pytest

from rumpus.harness.ensemble import Availability, without_connection
from rumpus.nemesis.fault_context import FaultContext
from rumpus.nemesis.runner import Nemesis


class Clock:
    def __init__(self):
        self.now = 0.0
        self._coming = []
        self._count = itertools.count()

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        until = self.now + seconds
        while self._coming and self._coming[0][0] <= until:
            self.now, _, action = heapq.heappop(self._coming)
            action()
        self.now = until

    def later(self, seconds, action):
        heapq.heappush(self._coming, (self.now + seconds, next(self._count), action))


class Faulty:
    """Calls named in ``ignored`` do nothing, those named in ``failing`` raise."""

    def __init__(self):
        self.ignored = set()
        self.failing = set()
        self.calls = []

    def takes(self, name, *arguments):
        self.calls.append((name, *arguments))
        if name in self.failing:
            raise OSError(f"{name} is out of order")
        return name not in self.ignored


class Processes(Faulty):
    """Each is running, paused or dead."""

    def __init__(self, names):
        super().__init__()
        self._states = dict.fromkeys(names, "running")

    def kill(self, name):
        if self.takes("kill", name):
            self._states[name] = "dead"

    def restart(self, name):
        """Whether it was dead and runs again."""
        if not self.takes("restart", name) or self._states[name] != "dead":
            return False
        self._states[name] = "running"
        return True

    def pause(self, name):
        if self.takes("pause", name):
            assert self._states[name] == "running", "only what is running can be paused"
            self._states[name] = "paused"

    def resume(self, name):
        if self.takes("resume", name) and self._states[name] == "paused":
            self._states[name] = "running"

    def state(self, name):
        return self._states[name]


class Servers(Processes):
    kind = "model"
    BOOT = 1.5

    def __init__(self, clock, count):
        self.nodes = tuple(f"n{i}" for i in range(1, count + 1))
        super().__init__(self.nodes)
        self._clock = clock
        self._ready = dict.fromkeys(self.nodes, 0.0)
        self._grudge = {}
        self._leads = self.nodes[-1]
        self.machines = self.disks = Machines(self)
        self.packets = Packets()

    def applied(self, node):
        """A transaction each millisecond."""
        links = self.packets.slowness().get(node, {}).values()
        late = max((slowness.delay for slowness in links), default=0)
        return max(0, int(1000 * (self.now - late)))

    def client_address(self, node):
        return node, 2181

    def restart(self, node):
        if super().restart(node):
            self._ready[node] = self._clock.now + self.BOOT

    def partition(self, grudge):
        if self.takes("partition"):
            self._grudge = {node: frozenset(who) for node, who in grudge.items() if who}

    def heal(self):
        if self.takes("heal"):
            self._grudge = {}

    def grudge(self):
        return dict(self._grudge)

    def reaches(self, source, target):
        return frozenset((source, target)) not in without_connection(self._grudge)

    @property
    def now(self):
        return self._clock.now

    def _able(self, node):
        return self._states[node] == "running" and self._clock.now >= self._ready[node]

    def _quorate(self, node):
        seen = [n for n in self.nodes if self._able(n) and (n == node or self.reaches(n, node))]
        return self._able(node) and len(seen) > len(self.nodes) // 2

    def leader(self):
        if not self._quorate(self._leads):
            self._leads = next((n for n in self.nodes if self._quorate(n)), self._leads)
        return self._leads if self._quorate(self._leads) else None

    def serves(self, node):
        leads = self.leader()
        return (
            leads is not None and self._able(node) and (node == leads or self.reaches(node, leads))
        )

    def probe(self):
        return {kind: Availability(True) for kind in ("kill", "pause", "partition")}


class Clocks(Faulty):
    def __init__(self):
        super().__init__()
        self._rates = {}
        self.steps = {}

    def skew_clock(self, who, *, step, rate):
        if self.takes("skew_clock", who):
            self._rates[who] = rate
            self.steps[who] = self.steps.get(who, 0) + step

    def clock_rate(self, who):
        return self._rates.get(who, 1)


class Machines(Clocks):
    def __init__(self, servers):
        super().__init__()
        self._servers = servers
        self._troubles = {}

    def power_off(self, node):
        if self.takes("power_off", node):
            self._servers.kill(node)

    def damage(self, node, damage, random):
        if self.takes("damage", node):
            self._servers.kill(node)
        return f"{damage} at {random.random():.1f}"

    def trouble_disk(self, node, trouble):
        if self.takes("trouble_disk", node):
            self._troubles[node] = trouble
            if trouble == "full":
                self._servers.kill(node)

    def disk_trouble(self, node):
        return self._troubles.get(node)

    def mend_disk(self, node):
        if self.takes("mend_disk", node):
            self._troubles.pop(node, None)


class Packets(Faulty):
    """Ten packets are lost, and ten are late, whatever the share."""

    def __init__(self):
        super().__init__()
        self._losses = {}
        self._slowness = {}
        self.quiet = False

    def lose(self, losses):
        if self.takes("lose"):
            self._losses = {node: dict(shares) for node, shares in losses.items()}

    def losses(self):
        return self._losses

    def lost(self):
        return 0 if self.quiet or not self._losses else 10

    def slow_down(self, node, links):
        if self.takes("slow_down", node):
            self._slowness[node] = dict(links)

    def slowness(self):
        return {node: links for node, links in self._slowness.items() if links}

    def slowed(self):
        return 0 if self.quiet or not self.slowness() else 10


class ClientMachines(Clocks):
    def __init__(self):
        super().__init__()
        self._stalled = {}
        self.held = []

    def stall(self, client, choice):
        if self.takes("stall", client):
            self._stalled[client] = f"thread {choice:.1f}"
        return self._stalled.get(client)

    def unstall(self, client):
        if self.takes("unstall", client):
            self._stalled.pop(client, None)

    def stalled(self, client):
        return self._stalled.get(client)

    def hold_back(self, client, number, seconds):
        armed = ArmedTrigger()
        if self.takes("hold_back", client):
            self.held.append((client, number, seconds))
            armed.acted = 1
        return armed


class ArmedTrigger:
    def __init__(self):
        self.acted = None
        self.withdrawn = False

    def withdraw(self):
        self.withdrawn = True


class Clients(Processes):
    def __init__(self, count):
        super().__init__(range(count))
        self.machines = self.threads = ClientMachines()
        self.count = count
        self.waited_for = []

    def restart(self, client, *, wait=True):
        super().restart(client)
        if wait:
            self.waited_for.append(client)


class Links(Faulty):
    sessions = True

    def __init__(self, servers, clients):
        super().__init__()
        self._servers = servers
        self._clients = clients
        self._cuts = [{} for _ in range(clients.count)]
        self._delays = [{} for _ in range(clients.count)]
        self.trigger_links = self
        self.armed = {}
        self._swallowed = [0] * clients.count

    def cut(self, client, how, nodes=None):
        if self.takes("cut", client, how):
            self._cuts[client] = dict.fromkeys(nodes or self._servers.nodes, how)

    def heal(self, client=None):
        if self.takes("heal", client):
            for each in range(self._clients.count) if client is None else [client]:
                self._cuts[each] = {}

    def in_force(self, client):
        return dict(self._cuts[client])

    def delay(self, client, milliseconds, nodes=None):
        if self.takes("delay", client, milliseconds):
            late = dict.fromkeys(nodes or self._servers.nodes, milliseconds)
            self._delays[client] = late if milliseconds else {}

    def delays(self, client):
        return dict(self._delays[client])

    def swallowed(self, client):
        return self._swallowed[client]

    def connected_to(self, client):
        if self._clients.state(client) == "dead":
            return None
        return next(
            (n for n in self._servers.nodes if self._servers.serves(n) and self.open(client, n)),
            None,
        )

    def open(self, client, node):
        return self._cuts[client].get(node, "lost-reply") == "lost-reply"

    def try_something(self, client):
        """Whether a request of the client gets through."""
        through = self.connected_to(client) is not None
        if not through and self._cuts[client]:
            self._swallowed[client] += 1
        return through

    def arm(self, client, trigger, nodes=None):
        self.takes("arm", client, trigger, nodes)
        self.armed[client] = ArmedTrigger()
        return self.armed[client]

    def create(self, client):
        """A create that gets through may lose its reply, and with that ends the cut."""
        if client in self.armed and not self.armed[client].withdrawn:
            self.armed[client].acted = 1
        if "lost-reply" in self._cuts[client].values():
            self._swallowed[client] += 1
            self._cuts[client] = {}


class Lock:
    """A fair lock that all clients contend for without a break; plays ``Roles``."""

    SESSION = 2.0

    def __init__(self, clock, clients, links, hold=0.04):
        self._clock, self._clients, self._links, self._hold = clock, clients, links, hold
        self._queue = list(range(clients.count))
        self._heard = [0.0] * clients.count
        self.expired_holders = []
        clock.later(hold, self._step)

    def _step(self):
        for client in range(self._clients.count):
            if self._clients.state(client) == "running" and self._links.try_something(client):
                self._heard[client] = self._clock.now
                if client not in self._queue:
                    self._links.create(client)
                    self._queue.append(client)
        for client in list(self._queue):
            if self._clock.now - self._heard[client] > self.SESSION:
                if client == self._queue[0]:
                    self.expired_holders.append(client)
                self._queue.remove(client)
        if self._queue and self._heard[self._queue[0]] == self._clock.now:
            self._queue.pop(0)
        self._clock.later(self._hold, self._step)

    def holder(self):
        return self._queue[0] if self._queue else None

    def next_in_line(self):
        return self._queue[1] if len(self._queue) > 1 else None


class World:
    def __init__(self, nodes=3, clients=5):
        self.clock = Clock()
        self.servers = Servers(self.clock, nodes)
        self.clients = Clients(clients)
        self.links = Links(self.servers, self.clients)
        self.lock = Lock(self.clock, self.clients, self.links)

    def context(self):
        return FaultContext(
            self.servers,
            self.links,
            self.clients,
            self.lock,
            self.clock.sleep,
            self.clock.monotonic,
        )

    def nemesis(self, plan, seed=0, **more):
        return Nemesis(
            plan,
            self.servers,
            self.links,
            self.clients,
            self.lock,
            seed,
            sleep=self.clock.sleep,
            monotonic=self.clock.monotonic,
            **more,
        )

    def perform(self, nemesis):
        """Dispatch the schedule as the harness does, one action after the other."""
        told = []
        for action in nemesis.schedule():
            self.clock.sleep(max(0.0, action.time / 1e9 - self.clock.now))
            told.append((action.f, nemesis.invoke(action.f, action.value)))
        return told

    def whole(self):
        """Whether nothing at all is broken."""
        everyone = range(self.clients.count)
        return (
            all(self.servers.serves(node) for node in self.servers.nodes)
            and not self.servers.grudge()
            and not self.servers.packets.losses()
            and not self.servers.packets.slowness()
            and all(self.clients.state(client) == "running" for client in everyone)
            and not any(self.links.in_force(client) for client in everyone)
            and not any(self.links.delays(client) for client in everyone)
        )


@pytest.fixture(scope="session")
def make_world():
    """Makes worlds; of session scope so that Hypothesis may make one an example."""
    return World
