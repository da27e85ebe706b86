"""Troubles of simulated machines: of servers and of clients."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rumpus.harness.simulated_faults import DiskTrouble
from rumpus.simulation.kernel.clock import Clock
from rumpus.simulation.kernel.process import Process
from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster

if TYPE_CHECKING:
    from rumpus.simulation.kernel.process import Task

SLOWNESS = 50.0
"""How much longer a slow disk's fsync takes."""


class SimMachines:
    """The machines of a cluster; fulfils ``harness.simulated_faults.Machines``."""

    def __init__(self, cluster: Cluster, network: Network) -> None:
        self._cluster = cluster
        self._network = network
        self._troubles: dict[str, DiskTrouble] = {}

    def power_off(self, node: str) -> None:
        """Cut the power."""
        self._cluster.power_off(node)

    def trouble_disk(self, node: str, trouble: DiskTrouble) -> None:
        """Let a disk have this trouble, in place of any earlier one."""
        self.mend_disk(node)
        self._troubles[node] = trouble
        disk = self._cluster.disks[node]
        if trouble == "slow":
            disk.slow(SLOWNESS)
        elif trouble == "full":
            disk.full()
        else:
            disk.lie()

    def disk_trouble(self, node: str) -> DiskTrouble | None:
        """What is wrong with a disk now."""
        return self._troubles.get(node)

    def mend_disk(self, node: str) -> None:
        """End it."""
        if self._troubles.pop(node, None) is not None:
            self._cluster.disks[node].heal()

    def skew_clock(self, node: str, *, step: float, rate: float) -> None:
        """Set the clocks of a server's process; it has right ones again when it is restarted."""
        process = self._cluster.programs[node].process
        if process is not None:
            _skew(process.clock, step, rate)

    def clock_rate(self, node: str) -> float:
        """How fast its clocks run."""
        process = self._cluster.programs[node].process
        return 1 if process is None else process.clock.rate

    def delay_replication(self, node: str, seconds: float) -> None:
        """Delay the packets of all other servers to a server."""
        for source in self._others(node):
            self._network.delay(source, node, round(seconds * SECOND))

    def replication_delay(self, node: str) -> float:
        """The longest delay of packets to a server from another, in seconds."""
        delays = (self._network.path(source, node).delay for source in self._others(node))
        return max(delays, default=0) / SECOND

    def applied(self, node: str) -> int:
        """The zxid of the last transaction that a server has applied."""
        return self._cluster.zxid(node)

    def _others(self, node: str) -> list[str]:
        return [other for other in self._cluster.nodes if other != node]


class SimClientMachines:
    """The insides of clients; fulfils ``harness.simulated_faults.ClientMachines``.

    Args:
        process: a client's present process.
        told: called with a client and ``paused`` or ``resumed``: judges must know that what
            such a client believes may be late.
    """

    def __init__(self, process: Callable[[int], Process], told: Callable[[int, str], None]) -> None:
        self._process = process
        self._told = told
        self._stalled: dict[int, Task] = {}

    def stall(self, client: int, choice: float) -> str:
        """Keep one of its threads from running; the main one may be it."""
        tasks = list(self._process(client).tasks)
        task = tasks[int(choice * len(tasks))]
        self.unstall(client)
        self._told(client, "paused")
        task.stall()
        self._stalled[client] = task
        return task.name

    def unstall(self, client: int) -> None:
        """Let all its threads run again."""
        task = self._stalled.pop(client, None)
        if task is not None and not task.process.dead:
            task.unstall()
            self._told(client, "resumed")

    def stalled(self, client: int) -> str | None:
        """Which of its threads does not run."""
        task = self._stalled.get(client)
        return None if task is None or task.process.dead else task.name

    def skew_clock(self, client: int, *, step: float, rate: float) -> None:
        """Set the clocks of a client's process; it has right ones again when it is restarted."""
        _skew(self._process(client).clock, step, rate)

    def clock_rate(self, client: int) -> float:
        """How fast its clocks run."""
        return self._process(client).clock.rate


def _skew(clock: Clock, step: float, rate: float) -> None:
    clock.step(round(step * SECOND))
    clock.run_at(rate)
