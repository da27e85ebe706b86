"""The fault ``client-stall``: one thread of a client gets no processor, the others go on.

A busy machine, a lock of the interpreter held by somebody else, a page that is swapped in: the
thread that hears of a lost session may be late while another one acts.
"""

from typing import Any

from rumpus.nemesis.fault import Fault
from rumpus.nemesis.recovery import clients_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_clients


class ClientStall(Fault):
    """Stall one thread of each client struck."""

    kind = "client-stall"
    label = "threads of clients stalled"
    colour = "#b7950b"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._clients: list[int] = []

    @property
    def targets(self) -> list[str]:
        """The clients struck."""
        return [f"c{client}" for client in self._clients]

    def choose(self) -> None:
        """By name, or by role among those that run."""
        self._clients, pinned, self.words = choose_clients(
            self.entry.targets, self.scene, self.rng, eligible=self.scene.running_clients
        )
        for client in pinned:
            self.scene.clients.resume(client)

    def inject(self) -> None:
        """Stall a thread of each."""
        for client in self._clients:
            self.scene.client_machines.stall(client, self.rng.random())

    def in_force(self) -> Finding:
        """Each has a thread that does not run."""
        threads = {c: self.scene.client_machines.stalled(c) for c in self._clients}
        words = ", ".join(f"c{client}: {thread}" for client, thread in threads.items())
        return Finding(bool(threads) and all(threads.values()), words or "nobody was struck")

    def heal(self) -> None:
        """Let them run."""
        for client in self._clients:
            self.scene.client_machines.unstall(client)

    def healed(self, timeout: float) -> Finding:
        """All threads run, and the clients are connected."""
        machines = self.scene.client_machines
        if left := [f"c{client}" for client in self._clients if machines.stalled(client)]:
            return Finding(False, f"still stalled: {', '.join(left)}")
        return clients_back(self._clients, self.scene, timeout)
