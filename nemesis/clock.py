"""Faults of clocks: ``clock-skew`` on servers, ``client-clock-skew`` on clients.

Wall clocks jump by up to a day. Wall clocks and monotonic clocks drift by up to one per cent: far
more than quartz does, and less than any lease allows for.
"""

from abc import abstractmethod
from typing import Any, Protocol

from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault import Fault, Target, Target_contra
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.server_fault import ServerFault

LONGEST_STEP = 86_400.0
"""Seconds by which a wall clock jumps, at most, forward or back."""
DRIFT = 0.01


class Clocks(Protocol[Target_contra]):
    """The clocks of servers (``Machines``) or of clients (``ClientMachines``)."""

    def skew_clock(self, target: Target_contra, /, *, step: float, rate: float) -> None:
        """Set the wall clock ``step`` seconds forward; both clocks run at ``rate`` from now on."""

    def clock_rate(self, target: Target_contra, /) -> float:
        """Return how fast the clocks run; 1 is right."""


class Skew(Fault[Target]):
    """Clocks are set wrong and drift; those of all targets by the same amounts."""

    needs = "simulation"
    usual = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._step = self.rng.uniform(-LONGEST_STEP, LONGEST_STEP)
        self._drift = self.rng.choice((-1, 1)) * self.rng.uniform(DRIFT / 10, DRIFT)

    @property
    @abstractmethod
    def clocks(self) -> Clocks[Target]:
        """The clocks of all servers or of all clients."""

    def inject(self) -> None:
        """Set the targets' clocks wrong."""
        for target in self.chosen:
            self.clocks.skew_clock(target, step=self._step, rate=1 + self._drift)

    def in_force(self) -> Finding:
        """Wait until the targets' clocks run at the wrong rate."""
        rate = 1 + self._drift
        detail = f"set by {self._step:.0f} s, running at {rate:.4f}"
        return self.wait_until_all(self.clocks.clock_rate, rate, detail)

    def heal(self) -> None:
        """Set the targets' clocks right."""
        for target in self.chosen:
            if self.clocks.clock_rate(target) != 1:
                self.clocks.skew_clock(target, step=-self._step, rate=1)

    def healed(self, timeout: float) -> Finding:
        """The clocks run at the right rate; wait until their servers or clients work."""
        if wrong := self.still_wrong(self.clocks.clock_rate, 1):
            return Finding(False, f"clocks still wrong: {wrong}")
        return super().healed(timeout)  # type: ignore[safe-super] # that of servers or clients


class ClockSkew(Skew[str], ServerFault):
    """Servers' clocks are set wrong and drift."""

    kind = "clock-skew"
    summary = "servers' wall clocks jump by up to a day, both clocks drift by up to one per cent"
    works_on = "the servers' clocks"

    @property
    def clocks(self) -> Clocks[str]:
        """The servers' clocks."""
        return self.context.machines


class ClientClockSkew(Skew[int], ClientFault):
    """Clients' clocks are set wrong and drift."""

    kind = "client-clock-skew"
    summary = "clients' wall clocks jump by up to a day, both clocks drift by up to one per cent"
    works_on = "the clients' clocks"

    @property
    def clocks(self) -> Clocks[int]:
        """The clients' clocks."""
        return self.context.client_machines
