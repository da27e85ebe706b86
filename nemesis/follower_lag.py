"""The fault ``follower-lag``: a follower that answers reads, and is behind its leader.

ZooKeeper lets a follower be behind: its clients read what was true a while ago. In a quiet network
that is a millisecond, and a recipe that forgets ``sync`` passes every test. Here everything that
other servers send to one follower arrives late, proposals and commits included. The delay is too
short to make the follower give up its leader (``syncLimit``).
"""

from typing import Any

from rumpus.harness.ensemble import Packets, Slowness
from rumpus.nemesis.fault import FORCE_BOUND, Draft, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault
from rumpus.nemesis.targets import TargetError, Targets, leader

LEAST_S = 0.15
MOST_S = 0.4
"""Seconds by which packets are late: syncLimit is 5 ticks of 0.5 s, a session lives for 2 s."""

COUNTER = (1 << 32) - 1
"""The part of a zxid that counts the transactions of an epoch."""


class FollowerLag(ServerFault):
    """A follower applies transactions late, and goes on serving."""

    kind = "follower-lag"
    summary = (
        "packets from other servers reach one follower 0.15 to 0.4 s late: it answers reads, and "
        "is behind the leader"
    )
    works_on = "the servers' network"
    needs = "delay"
    several_nodes = "a single server has no followers"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seconds = self.rng.uniform(LEAST_S, MOST_S)

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Always the follower with most clients, for most of its slot: load goes on meanwhile."""
        del turn
        return Draft(Targets(role="follower"), lasting=True)

    @property
    def _packets(self) -> Packets:
        packets = self.context.ensemble.packets
        assert packets is not None  # ``registry.require`` saw to it
        return packets

    def choose(self) -> None:
        """Choose among the running servers, without the leader: it cannot be behind."""
        super().choose()
        leads = leader(self.context)
        self.chosen = [node for node in self.chosen if node != leads]
        if not self.chosen:
            raise TargetError(f"{leads} leads, so it cannot be behind")

    def inject(self) -> None:
        """Have everything from other servers arrive late."""
        slow = Slowness(self._seconds)
        for node in self.chosen:
            others = [other for other in self.context.ensemble.nodes if other != node]
            self._packets.slow_down(node, dict.fromkeys(others, slow))

    def in_force(self) -> Finding:
        """Wait until they serve, but lack what the leader had applied half the delay ago."""
        seen: list[tuple[float, int]] = []
        applied = self._applied_by_leader

        def behind() -> bool:
            now = self.context.monotonic()
            leads = self.context.ensemble.leader()
            if leads is not None:
                seen.append((now, applied(leads)))
            old = max((zxid for at, zxid in seen if at <= now - self._seconds / 2), default=0)
            return all(
                self.context.ensemble.serves(node) and self.context.ensemble.applied(node) < old
                for node in self.chosen
            )

        links = self.context.links
        clients = [
            c for c in self.context.running_clients() if links.connected_to(c) in self.chosen
        ]
        whose = ", ".join(f"c{client}" for client in clients) or "no client"
        if self.context.until(behind, FORCE_BOUND):
            return Finding(True, f"behind by {1000 * self._seconds:.0f} ms, serving {whose}")
        return Finding(False, f"not seen to be behind within {FORCE_BOUND:g} s")

    def _applied_by_leader(self, leader: str) -> int:
        """The zxid of the last transaction of a leader; 0 if it has had none in its epoch yet.

        Then its zxid is only its epoch's. A follower is in step with a leader before it serves.
        """
        zxid = self.context.ensemble.applied(leader)
        return zxid if zxid & COUNTER else 0

    def heal(self) -> None:
        """Let packets pass without delay."""
        for node in self.chosen:
            self._packets.slow_down(node, {})

    def healed(self, timeout: float) -> Finding:
        """No delay is left; wait until they have applied all that the leader has applied by now."""
        if late := sorted(self._packets.slowness().keys() & {*self.chosen}):
            return Finding(False, f"still reached late: {', '.join(late)}")
        leads = self.context.ensemble.leader()
        goal = 0 if leads is None else self._applied_by_leader(leads)

        def behind() -> list[str]:
            serving = filter(self.context.ensemble.serves, self.chosen)
            return [node for node in serving if self.context.ensemble.applied(node) < goal]

        begun = self.context.monotonic()
        if not self.context.until(lambda: not behind(), timeout):
            return Finding(False, f"still behind after {timeout:g} s: {', '.join(behind())}")
        left = max(0.0, timeout - (self.context.monotonic() - begun))
        return super().healed(left)

    def record(self) -> dict[str, Any]:
        """By how many seconds they were behind."""
        return {"seconds": round(self._seconds, 3)}
