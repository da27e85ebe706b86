"""The fault ``client-request``: a blow at one request of a client, counted.

The reply is lost or held back, or the connection is reset just before or just after it passes:
what random faults hit only by luck.
"""

from typing import Any

from rumpus.harness.simulated_faults import Aim, Shot
from rumpus.nemesis.fault import Fault
from rumpus.nemesis.recovery import clients_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_clients


class ClientRequest(Fault):
    """Aim at the n-th request of a kind of each client struck.

    It strikes by itself when that request comes, so it counts as in force once it is aimed, and
    as having happened (when it is healed) if at least one client was struck.
    """

    kind = "client-request"
    label = "single requests of clients struck"
    colour = "#1a5276"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        options = self.entry.options
        self.aim = Aim(
            self.entry.deed, options.request or "create", options.number or 1, options.hold or 1000
        )
        self._clients: list[int] = []
        self._shots: dict[int, Shot] = {}

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
        """Aim."""
        for client in self._clients:
            self._shots[client] = self.scene.aimed_links.aim(
                client, self.aim, self.entry.options.nodes
            )

    def in_force(self) -> Finding:
        """All are aimed at."""
        aim = self.aim
        words = f"{aim.deed} of {aim.request} number {aim.number}"
        return Finding(bool(self._shots) and len(self._shots) == len(self._clients), words)

    def heal(self) -> None:
        """Take back what has not struck."""
        for shot in self._shots.values():
            shot.withdraw()

    def healed(self, timeout: float) -> Finding:
        """At least one was struck, and all are connected."""
        back = clients_back(self._clients, self.scene, timeout)
        struck = self._struck()
        if back.ok and not struck:
            return Finding(False, "nobody was struck: no such request came")
        return Finding(back.ok, f"struck: {', '.join(struck) or 'none'}; {back.words}")

    def record(self) -> dict[str, Any]:
        """What was done to which request, and to whom so far."""
        return {"how": self.aim.deed, "request": self.aim.request, "struck": self._struck()}

    def _struck(self) -> list[str]:
        return [f"c{c}" for c, shot in self._shots.items() if shot.struck is not None]
