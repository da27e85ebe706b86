"""Faults of client processes: ``client-pause`` and ``client-kill``."""

from abc import abstractmethod
from typing import Any, ClassVar

from rumpus.harness.clients.clients import ClientState
from rumpus.nemesis.fault import FORCE_BOUND, Fault
from rumpus.nemesis.recovery import clients_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_clients


class ClientProcess(Fault):
    """A fault that stops client processes in one way or the other."""

    stopped: ClassVar[ClientState]
    """The state in which it leaves them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._clients: list[int] = []

    @property
    def targets(self) -> list[str]:
        """The clients struck."""
        return [f"c{client}" for client in self._clients]

    def choose(self) -> None:
        """By name, or by role among those that run; a holder comes frozen already."""
        self._clients, _, self.words = choose_clients(
            self.entry.targets, self.scene, self.rng, eligible=self.scene.running_clients
        )

    def inject(self) -> None:
        """Stop them one after the other."""
        for client in self._clients:
            if self.scene.clients.state(client) != self.stopped:
                self.stop(client)

    def in_force(self) -> Finding:
        """The operating system says that their processes are stopped."""
        state = self.scene.clients.state
        struck = self._clients

        if struck and self.scene.until(
            lambda: all(state(client) == self.stopped for client in struck), FORCE_BOUND
        ):
            return Finding(True, self.stopped)
        seen = ", ".join(f"c{client} is {state(client)}" for client in struck)
        return Finding(
            False, f"not in force after {FORCE_BOUND:g} s: {seen or 'nobody was struck'}"
        )

    def heal(self) -> None:
        """Set those going again that are stopped, in whichever way."""
        for client in self._clients:
            state = self.scene.clients.state(client)
            if state == "paused":
                self.scene.clients.resume(client)
            elif state == "dead":
                self.scene.clients.restart(client)

    def healed(self, timeout: float) -> Finding:
        """They run and are connected again."""
        return clients_back(self._clients, self.scene, timeout)

    @abstractmethod
    def stop(self, client: int) -> None:
        """Stop one."""


class ClientPause(ClientProcess):
    """Freeze clients; let them go on, unaware of the time that has passed."""

    kind = "client-pause"
    label = "clients paused"
    colour = "#f1c40f"
    stopped = "paused"

    def stop(self, client: int) -> None:
        """Freeze one."""
        self.scene.clients.pause(client)


class ClientKill(ClientProcess):
    """Kill clients with SIGKILL; start them anew. Their sessions linger until they expire."""

    kind = "client-kill"
    label = "clients killed"
    colour = "#d35400"
    stopped = "dead"

    def stop(self, client: int) -> None:
        """Kill one."""
        self.scene.clients.kill(client)
