"""Faults of clocks: ``clock-skew`` on servers, ``client-clock-skew`` on clients.

Wall clocks jump by up to a day. Both clocks drift by up to one part in a hundred: far more than
quartz does, and less than any lease allows for.
"""

from abc import abstractmethod
from typing import Any

from rumpus.nemesis.fault import Fault
from rumpus.nemesis.recovery import clients_back, servers_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_clients, choose_servers

LONGEST_STEP = 86_400.0
"""Seconds by which a wall clock jumps, at most, forward or back."""
DRIFT = 0.01


class Clocks(Fault):
    """Clocks are set wrong and drift, all by the same."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._step = self.rng.uniform(-LONGEST_STEP, LONGEST_STEP)
        self._drift = self.rng.choice((-1, 1)) * self.rng.uniform(DRIFT / 10, DRIFT)

    @property
    @abstractmethod
    def _rates(self) -> dict[str, float]:
        """How fast the clocks of those struck run."""

    @abstractmethod
    def _skew(self, target: str, step: float, rate: float) -> None:
        """Set one's clocks."""

    @abstractmethod
    def _back(self, timeout: float) -> Finding:
        """Wait until those struck are of use."""

    def inject(self) -> None:
        """Set them wrong."""
        for target in self.targets:
            self._skew(target, self._step, 1 + self._drift)

    def in_force(self) -> Finding:
        """They run at the wrong rate."""
        rates = self._rates
        in_force = bool(rates) and set(rates.values()) == {1 + self._drift}
        words = f"set by {self._step:.0f} s, running at {1 + self._drift:.4f}"
        return Finding(in_force, words if in_force else f"clocks run at {rates}")

    def heal(self) -> None:
        """Set them right."""
        for target, rate in self._rates.items():
            if rate != 1:
                self._skew(target, -self._step, 1)

    def healed(self, timeout: float) -> Finding:
        """They run right, and those struck are of use."""
        if wrong := [target for target, rate in self._rates.items() if rate != 1]:
            return Finding(False, f"clocks still wrong: {', '.join(wrong)}")
        return self._back(timeout)


class ClockSkew(Clocks):
    """Servers' clocks are set wrong and drift."""

    kind = "clock-skew"
    label = "servers' clocks wrong"
    colour = "#117864"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._nodes: list[str] = []

    @property
    def targets(self) -> list[str]:
        """The servers struck."""
        return list(self._nodes)

    def choose(self) -> None:
        """By name, or by role among those that run."""
        self._nodes, self.words = choose_servers(self.entry.targets, self.scene, self.rng)

    @property
    def _rates(self) -> dict[str, float]:
        return {node: self.scene.machines.clock_rate(node) for node in self._nodes}

    def _skew(self, target: str, step: float, rate: float) -> None:
        self.scene.machines.skew_clock(target, step=step, rate=rate)

    def _back(self, timeout: float) -> Finding:
        return servers_back(self._nodes, self.scene, timeout)


class ClientClockSkew(Clocks):
    """Clients' clocks are set wrong and drift."""

    kind = "client-clock-skew"
    label = "clients' clocks wrong"
    colour = "#0e6655"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._clients: dict[str, int] = {}

    @property
    def targets(self) -> list[str]:
        """The clients struck."""
        return list(self._clients)

    def choose(self) -> None:
        """By name, or by role among those that run."""
        clients, pinned, self.words = choose_clients(
            self.entry.targets, self.scene, self.rng, eligible=self.scene.running_clients
        )
        self._clients = {f"c{client}": client for client in clients}
        for client in pinned:
            self.scene.clients.resume(client)

    @property
    def _rates(self) -> dict[str, float]:
        machines = self.scene.client_machines
        return {name: machines.clock_rate(client) for name, client in self._clients.items()}

    def _skew(self, target: str, step: float, rate: float) -> None:
        self.scene.client_machines.skew_clock(self._clients[target], step=step, rate=rate)

    def _back(self, timeout: float) -> Finding:
        return clients_back(list(self._clients.values()), self.scene, timeout)
