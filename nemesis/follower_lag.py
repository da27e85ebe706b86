"""The fault ``follower-lag``: a follower that answers reads, and is behind its leader.

ZooKeeper lets a follower be behind: its clients read what was true a while ago. In a quiet network
that is a millisecond, and a recipe that forgets ``sync`` passes every test. Here everything that
other servers send to one follower arrives late, proposals and commits among it, by less than what
would make the follower give its leader up (``syncLimit``).
"""

from typing import Any

from rumpus.nemesis.fault import FORCE_BOUND, Fault
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import TargetError, choose_servers, leader

LEAST_S = 0.15
MOST_S = 0.4
"""Seconds by which packets are late: syncLimit is 5 ticks of 0.5 s, a session lives for 2 s."""


class FollowerLag(Fault):
    """A follower applies transactions late, and goes on serving."""

    kind = "follower-lag"
    label = "follower behind"
    colour = "#2471a3"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._nodes: list[str] = []
        self._seconds = self.rng.uniform(LEAST_S, MOST_S)

    @property
    def targets(self) -> list[str]:
        """The followers struck."""
        return list(self._nodes)

    def choose(self) -> None:
        """By name, or by role among those that run; the leader is behind nobody."""
        nodes, self.words = choose_servers(self.entry.targets, self.scene, self.rng)
        leads = leader(self.scene)
        self._nodes = [node for node in nodes if node != leads]
        if not self._nodes:
            raise TargetError(f"{leads} leads, so it cannot be behind")

    def inject(self) -> None:
        """Have everything from other servers arrive late."""
        for node in self._nodes:
            self.scene.machines.delay_replication(node, self._seconds)

    def in_force(self) -> Finding:
        """They serve, and lack what the leader had applied half the delay ago."""
        machines = self.scene.machines
        seen: list[tuple[float, int]] = []

        def behind() -> bool:
            now = self.scene.monotonic()
            leads = self.scene.ensemble.leader()
            if leads is not None:
                seen.append((now, machines.applied(leads)))
            old = max((zxid for at, zxid in seen if at <= now - self._seconds / 2), default=0)
            return all(
                self.scene.ensemble.serves(node) and machines.applied(node) < old
                for node in self._nodes
            )

        links = self.scene.links
        clients = [c for c in self.scene.running_clients() if links.connected_to(c) in self._nodes]
        whose = ", ".join(f"c{client}" for client in clients) or "no client"
        if self.scene.until(behind, FORCE_BOUND):
            return Finding(True, f"behind by {1000 * self._seconds:.0f} ms, serving {whose}")
        return Finding(False, f"not seen to be behind within {FORCE_BOUND:g} s")

    def heal(self) -> None:
        """Let packets pass as ever."""
        for node in self._nodes:
            self.scene.machines.delay_replication(node, 0.0)

    def healed(self, timeout: float) -> Finding:
        """Nothing is delayed, and they have applied all that the leader has applied by now."""
        machines = self.scene.machines
        late = [node for node in self._nodes if machines.replication_delay(node)]
        if late:
            return Finding(False, f"still reached late: {', '.join(late)}")
        leads = self.scene.ensemble.leader()
        goal = 0 if leads is None else machines.applied(leads)
        waiting: list[str] = []

        def caught_up() -> bool:
            waiting[:] = [
                node
                for node in self._nodes
                if self.scene.ensemble.serves(node) and machines.applied(node) < goal
            ]
            return not waiting

        begun = self.scene.monotonic()
        if not self.scene.until(caught_up, timeout):
            return Finding(False, f"still behind after {timeout:g} s: {', '.join(waiting)}")
        left = max(0.0, timeout - (self.scene.monotonic() - begun))
        return servers_back(self._nodes, self.scene, left)

    def record(self) -> dict[str, Any]:
        """By how many seconds they were behind."""
        return {"seconds": round(self._seconds, 3)}
