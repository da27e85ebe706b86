"""Faults of clocks: ``clock-skew``, ``client-clock-skew``, and ``clock-jump`` on real servers, too.

Wall clocks jump by up to a day. Wall clocks and monotonic clocks drift by up to one per cent: far
more than quartz does, and less than any lease allows for.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from rumpus.harness.ensemble import WallClocks
from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.fault import Fault, FaultOptions, Target, Target_contra
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


class JumpOptions(FaultOptions, frozen=True):
    """``seconds``: by how many whole seconds the clocks are ahead."""

    seconds: int = 3

    def check(self, nodes: Sequence[str]) -> None:
        """Refuse clocks that would be right, or wrong by more than a day."""
        del nodes
        if not 0 < abs(self.seconds) <= LONGEST_STEP:
            raise PlanError(
                f'field "options.seconds" is {self.seconds}; allowed are 1 to {LONGEST_STEP:g}, '
                "or as much below 0"
            )


class ClockJump(ServerFault):
    """Servers' wall clocks are set wrong by some seconds."""

    kind = "clock-jump"
    summary = "servers' wall clocks jump forward by 3 s (`options.seconds`), and back in the end"
    works_on = "the servers' clocks"
    needs = "clock"
    usual = False
    drawn = False
    takes = JumpOptions

    @property
    def clocks(self) -> WallClocks:
        """The clocks (``registry.require`` made sure that they can be set)."""
        assert self.context.ensemble.clocks is not None
        return self.context.ensemble.clocks

    def inject(self) -> None:
        """Set the clocks ahead."""
        for target in self.chosen:
            self.clocks.set_clock(target, self.options.seconds)

    def in_force(self) -> Finding:
        """Wait until all servers say a time that is as wrong."""
        seconds = self.options.seconds
        return self.wait_until_all(self._error, seconds, f"{seconds} s ahead")

    def heal(self) -> None:
        """Set the clocks right of those servers that run."""
        for target in self.chosen:
            if self.context.ensemble.state(target) == "running":
                self.clocks.set_clock(target, 0)

    def healed(self, timeout: float) -> Finding:
        """The clocks are right; wait until their servers work."""
        found = super().healed(timeout)
        if found.ok and (wrong := self.still_wrong(self._error, 0)):
            return Finding(False, f"clocks still wrong: {wrong}")
        return found

    def _error(self, target: str) -> int | None:
        """By how many seconds a server's clock is ahead."""
        error = self.clocks.clock_error(target)
        return None if error is None else round(error)


class ClientClockSkew(Skew[int], ClientFault):
    """Clients' clocks are set wrong and drift."""

    kind = "client-clock-skew"
    summary = "clients' wall clocks jump by up to a day, both clocks drift by up to one per cent"
    works_on = "the clients' clocks"

    @property
    def clocks(self) -> Clocks[int]:
        """The clients' clocks."""
        return self.context.client_machines
