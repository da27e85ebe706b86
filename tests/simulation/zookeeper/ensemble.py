"""An ensemble for tests: servers, and clients; virtual time passes while a client waits."""

from rumpus.simulation.kernel.simulator import MILLISECOND
from tests.simulation.zookeeper.raw_client import World


class Ensemble(World):
    """Three servers, or more, with short ticks."""

    def __init__(self, count=3, seed=1, *, observers=0, keep_trace=False, **settings):
        settings = {"tick_time": 500, "init_limit": 10, "sync_limit": 5, **settings}
        super().__init__(count, seed, observers=observers, **settings)
        self.simulator.trace._keep = keep_trace
        self.kill = self.cluster.kill
        self.pause = self.cluster.pause
        self.resume = self.cluster.resume
        self.running = self.cluster.running
        self.heal = self.network.heal
        self.start_nodes(*self.nodes)
        self.run_for(3000)

    def start_nodes(self, *nodes):
        self.cluster.start(nodes)

    def run_for(self, milliseconds):
        end = self.simulator.now + milliseconds * MILLISECOND
        while self.simulator.now < end:  # whatever comes to a client interrupts it
            self.simulator.run(end)

    def files(self, node):
        disk = self.cluster.disks[node]
        start = "version-2/"
        return {path[len(start) :]: disk.read(path) for path in disk.list(start)}

    def wait_for(self, condition, seconds=20):
        for _ in range(seconds * 500):
            if condition():
                return
            self.run_for(2)
        raise AssertionError("in vain")

    def serving(self, *nodes):
        return lambda: all(self.cluster.serves(node) for node in nodes)

    def reasons(self, node):
        """Why it has looked for a leader anew, each time; with a trace that is kept."""
        return [
            entry[2]
            for entry in self.simulator.trace.kept
            if isinstance(entry, tuple) and entry[:2] == ("looking", node)
        ]
