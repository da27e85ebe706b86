"""Faults of server processes: ``kill`` and ``power-off`` (and start again), ``pause``."""

from abc import abstractmethod
from typing import Any, ClassVar

from rumpus.harness.ensemble import NodeState
from rumpus.nemesis.fault import FORCE_BOUND, Fault
from rumpus.nemesis.recovery import servers_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_servers


class ServerProcess(Fault):
    """A fault that stops server processes in one way or the other."""

    stopped: ClassVar[NodeState]
    """The state in which it leaves them."""

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

    def inject(self) -> None:
        """Stop them one after the other."""
        for node in self.targets:
            self.stop(node)

    def in_force(self) -> Finding:
        """Their processes are stopped, and they do not answer as part of a quorum."""
        ensemble = self.scene.ensemble

        def struck() -> bool:
            return all(
                ensemble.state(node) == self.stopped and not ensemble.serves(node)
                for node in self.targets
            )

        if self.targets and self.scene.until(struck, FORCE_BOUND):
            return Finding(True, f"{self.stopped} and not serving")
        seen = ", ".join(
            f"{n} is {ensemble.state(n)} and {'serves' if ensemble.serves(n) else 'does not serve'}"
            for n in self.targets
        )
        return Finding(
            False, f"not in force after {FORCE_BOUND:g} s: {seen or 'nobody was struck'}"
        )

    def heal(self) -> None:
        """Set those going again that are still stopped."""
        for node in self.targets:
            if self.scene.ensemble.state(node) == self.stopped:
                self.go_on(node)

    def healed(self, timeout: float) -> Finding:
        """They run and serve again."""
        return servers_back(self.targets, self.scene, timeout)

    @abstractmethod
    def stop(self, node: str) -> None:
        """Stop one."""

    @abstractmethod
    def go_on(self, node: str) -> None:
        """Set one going again."""


class Kill(ServerProcess):
    """Kill servers with SIGKILL; start them again on their disks."""

    kind = "kill"
    label = "servers killed"
    colour = "#c0392b"
    stopped = "dead"

    def stop(self, node: str) -> None:
        """Kill one."""
        self.scene.ensemble.kill(node)

    def go_on(self, node: str) -> None:
        """Start it again."""
        self.scene.ensemble.restart(node)


class Pause(ServerProcess):
    """Freeze servers; let them go on."""

    kind = "pause"
    label = "servers paused"
    colour = "#e67e22"
    stopped = "paused"

    def stop(self, node: str) -> None:
        """Freeze one."""
        self.scene.ensemble.pause(node)

    def go_on(self, node: str) -> None:
        """Unfreeze it."""
        self.scene.ensemble.resume(node)


class PowerOff(ServerProcess):
    """Cut the power of servers' machines: what was not synced may be lost; start them again."""

    kind = "power-off"
    label = "servers without power"
    colour = "#641e16"
    stopped = "dead"

    def stop(self, node: str) -> None:
        """Cut one's power."""
        self.scene.machines.power_off(node)

    def go_on(self, node: str) -> None:
        """Switch it on again."""
        self.scene.ensemble.restart(node)
