"""Faults of simulated machines, of servers and of clients: disks, clocks, delays, threads."""

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING

from rumpus.harness.damage import Damage, damaged
from rumpus.harness.ensemble import DiskTrouble, Losses, Slowness
from rumpus.harness.links.triggers import SWITCH, FrameSeen
from rumpus.simulation.kernel.clock import BOOT, Clock
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task

HARNESS_THREADS = frozenset({"belief"})
"""Threads of clients' processes that are not the recipe's."""

SLOWNESS = 50.0
"""The factor by which a slow disk's fsync takes longer."""


class SimMachines:
    """The machines of a cluster.

    Implements ``harness.simulated_faults.Machines`` and, of ``harness.ensemble``, ``Disks`` and
    ``WallClocks``.
    """

    def __init__(self, cluster: Cluster, network: Network) -> None:
        self._cluster = cluster
        self._network = network
        self._troubles: dict[str, DiskTrouble] = {}
        self._delayed: dict[str, int] = {}
        """How many packets had been late at a node when ``slow_down`` was last called for it."""
        self._dropped = 0
        """How many packets between servers had been lost when ``lose`` was last called."""

    def prepare(self, trouble: DiskTrouble | None) -> None:
        """Nothing: every simulated disk can have any trouble."""

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Give a server's disk this fault, in place of any earlier one."""
        self.mend_disk(node)
        self._troubles[node] = trouble
        disk = self._cluster.disks[node]
        if trouble == "slow":
            disk.slow(SLOWNESS)
        elif trouble == "full":
            disk.full()
        elif trouble == "failing":
            disk.fail_sync()
        else:
            disk.lie()

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """What is wrong with a disk now."""
        return self._troubles.get(node)

    def mend_disk(self, node: str) -> None:
        """End the fault of a server's disk."""
        if self._troubles.pop(node, None) is not None:
            self._cluster.disks[node].heal()

    def power_off(self, node: str) -> None:
        """Cut the power of a server's machine."""
        self._cluster.power_off(node)

    def damage(self, node: str, damage: Damage, random: Random) -> str:
        """Kill a server, and damage its files."""
        self._cluster.kill(node)
        disk = self._cluster.disks[node]
        files = {path: disk.read(path) for path in disk.list()}
        found = damaged(files, damage, random)
        for path, data in found.changes.items():
            disk.damage(path, data)
        return found.words

    def skew_clock(self, node: str, *, step: float, rate: float) -> None:
        """Set the clocks of a server's process wrong; a restarted process has right ones."""
        process = self._cluster.programs[node].process
        if process is not None:
            _skew(process.clock, step, rate)

    def clock_rate(self, node: str) -> float:
        """How fast its clocks run."""
        process = self._cluster.programs[node].process
        return 1 if process is None else process.clock.rate

    def set_clock(self, node: str, seconds: int) -> None:
        """Set the wall clock of a server's process so many seconds ahead of the right time."""
        process = self._cluster.programs[node].process
        if process is not None:
            clock = process.clock
            clock.step(clock.true_wall() + seconds * SECOND - clock.wall())

    def clock_error(self, node: str) -> float | None:
        """By how many seconds a server's wall clock is ahead; None while the server is dead."""
        process = self._cluster.programs[node].process
        if process is None:
            return None
        return (process.clock.wall() - process.clock.true_wall()) / SECOND

    def slow_down(self, node: str, links: Mapping[str, Slowness]) -> None:
        """Have packets from these servers arrive late at a node."""
        for source in self._others(node):
            wanted, now = links.get(source, Slowness()), self._slowness(source, node)
            if wanted[:2] != now[:2]:
                delay, jitter = (round(each * SECOND) for each in wanted[:2])
                self._network.delay(source, node, delay, jitter)
            if wanted.bytes_per_second != now.bytes_per_second:
                self._network.rate(source, node, wanted.bytes_per_second or None)
        self._delayed[node] = self._all_delayed(node)

    def slowed(self) -> int:
        """How many packets have been late since then."""
        return sum(self._all_delayed(node) - before for node, before in self._delayed.items())

    def _all_delayed(self, node: str) -> int:
        """How many packets from other servers have ever been late at a server."""
        return sum(self._network.path(source, node).delayed for source in self._others(node))

    def slowness(self) -> dict[str, dict[str, Slowness]]:
        """What is late now."""
        found: dict[str, dict[str, Slowness]] = {}
        for node in self._cluster.nodes:
            for source in self._others(node):
                if any(slowness := self._slowness(source, node)):
                    found.setdefault(node, {})[source] = slowness
        return found

    def _slowness(self, source: str, node: str) -> Slowness:
        path = self._network.path(source, node)
        return Slowness(path.delay / SECOND, path.jitter / SECOND, path.bytes_per_second or 0)

    def lose(self, losses: Losses) -> None:
        """Lose packets between servers at random."""
        for node in self._cluster.nodes:
            for source in self._others(node):
                share = losses.get(node, {}).get(source, 0.0)
                if self._network.path(source, node).loss != share:
                    self._network.lose(source, node, share)
        self._dropped = self._all_dropped()

    def losses(self) -> dict[str, dict[str, float]]:
        """What is lost now."""
        found: dict[str, dict[str, float]] = {}
        for node in self._cluster.nodes:
            for source in self._others(node):
                if share := self._network.path(source, node).loss:
                    found.setdefault(node, {})[source] = share
        return found

    def lost(self) -> int:
        """How many packets have been lost since then."""
        return self._all_dropped() - self._dropped

    def _all_dropped(self) -> int:
        """How many packets between servers have ever been lost."""
        nodes = self._cluster.nodes
        return sum(self._network.dropped(o, node) for node in nodes for o in self._others(node))

    def reseed(self, number: int) -> None:
        """Draw all random choices anew from now on."""
        self._cluster.simulator.reseed(number)

    def _others(self, node: str) -> list[str]:
        return [other for other in self._cluster.nodes if other != node]


class SimClientMachines:
    """Threads and clocks of clients; implements ``harness.simulated_faults.ClientMachines``.

    Args:
        process: returns a client's present process.
        told: called with a client and ``paused`` or ``resumed``, for the history: a checker must
            know that such a client may learn late that its state has changed.
        clients: how many there are.
    """

    def __init__(
        self,
        process: Callable[[int], Process],
        told: Callable[[int, str], None],
        clients: int,
    ) -> None:
        self._process = process
        self._told = told
        self._stalled: dict[int, Task] = {}
        self._clients = clients
        self._log: list[FrameSeen] | None = None

    def stall(self, client: int, choice: float) -> str:
        """Keep one of a client's threads from running, perhaps the main thread; return its name."""
        tasks = list(self._process(client).tasks)
        task = tasks[int(choice * len(tasks))]
        self.unstall(client)
        self._told(client, "paused")
        task.stall()
        self._stalled[client] = task
        return task.name

    def unstall(self, client: int) -> None:
        """Let all threads of a client run again."""
        task = self._stalled.pop(client, None)
        if task is not None and not task.process.dead:
            task.unstall()
            self._told(client, "resumed")

    def stalled(self, client: int) -> str | None:
        """The name of a client's thread that does not run; None if all do."""
        task = self._stalled.get(client)
        return None if task is None or task.process.dead else task.name

    def hold_back(self, client: int, number: int, seconds: float) -> "HeldSwitch":
        """Keep the thread from running for a while that is the n-th to run from now on."""
        held = HeldSwitch(number, round(seconds * SECOND))
        self._watch(client).held.append(held)
        return held

    def switches(self) -> list[FrameSeen]:
        """The threads of all clients that were to run since this was first called."""
        if self._log is None:
            self._log = []
            for client in range(self._clients):
                self._watch(client).log = self._log
        return list(self._log)

    def _watch(self, client: int) -> "SwitchWatch":
        """Watch the threads of a client's present process."""
        process = self._process(client)
        if not isinstance(process.at_ready, SwitchWatch):
            process.at_ready = SwitchWatch(client, process)
        return process.at_ready

    def skew_clock(self, client: int, *, step: float, rate: float) -> None:
        """Set the clocks of a client's process wrong; a restarted process has right ones."""
        _skew(self._process(client).clock, step, rate)

    def clock_rate(self, client: int) -> float:
        """How fast its clocks run."""
        return self._process(client).clock.rate


class HeldSwitch:
    """A trigger for the n-th switch to a thread; implements ``ArmedTrigger``.

    Args:
        number: which switch; 1: the next.
        delay: for how long the thread does not run, in nanoseconds.
    """

    def __init__(self, number: int, delay: int) -> None:
        self.acted: int | None = None
        """When it acted, in monotonic nanoseconds; None: not yet."""
        self.left = number
        self.delay = delay
        self.withdrawn = False

    def withdraw(self) -> None:
        """Hold back no thread any more. One that is held back runs when its time has come."""
        self.withdrawn = True


class SwitchWatch:
    """Sees each thread of a client's process that is to run; for ``Process.at_ready``.

    Args:
        client: whose.
        process: the client's present process.
    """

    def __init__(self, client: int, process: Process) -> None:
        self.held: list[HeldSwitch] = []
        self.log: list[FrameSeen] | None = None
        self._client = client
        self._process = process
        self._passing: Task | None = None

    def __call__(self, task: "Task") -> bool:
        """Count the switch; whether the thread is held back."""
        if task is self._passing or task.name.partition(":")[2] in HARNESS_THREADS:
            return False
        simulator = self._process.simulator
        if self.log is not None:
            self.log.append(FrameSeen(BOOT + simulator.now, self._client, SWITCH))
        for held in self.held:
            held.left -= 1
        due = [held for held in self.held if held.left == 0 and not held.withdrawn]
        for held in due:
            held.acted = BOOT + simulator.now
        if due:
            simulator.call_after(max(held.delay for held in due), self._pass, task)
        return bool(due)

    def _pass(self, task: "Task") -> None:
        self._passing = task
        self._process.simulator.make_ready(task)
        self._passing = None


def _skew(clock: Clock, step: float, rate: float) -> None:
    clock.step(round(step * SECOND))
    clock.run_at(rate)
