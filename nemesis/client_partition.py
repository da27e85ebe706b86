"""The fault ``client-partition``: clients whose connections to the servers are broken."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from rumpus.nemesis.fault import FORCE_BOUND, Fault
from rumpus.nemesis.recovery import clients_back
from rumpus.nemesis.scene import Finding
from rumpus.nemesis.targets import choose_clients

if TYPE_CHECKING:
    from rumpus.harness.links.links import Cut


class ClientPartition(Fault):
    """Cut clients' links; see ``harness.links.links.Cut`` for the ways to do so."""

    kind = "client-partition"
    label = "clients partitioned"
    colour = "#2980b9"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.how = cast("Cut", self.entry.how)
        self._clients: list[int] = []
        self._pinned: list[int] = []

    @property
    def targets(self) -> list[str]:
        """The clients struck."""
        return [f"c{client}" for client in self._clients]

    def _eligible(self) -> list[int]:
        """Living clients whose links are whole, or only wait for a change."""
        scene = self.scene
        return [
            client
            for client in range(scene.clients.count)
            if scene.clients.state(client) != "dead"
            and set(scene.links.in_force(client).values()) <= {"lost-reply"}
        ]

    def choose(self) -> None:
        """By name, or by role among those that are not cut; a holder comes frozen."""
        self._clients, self._pinned, self.words = choose_clients(
            self.entry.targets, self.scene, self.rng, eligible=self._eligible
        )

    def _nodes(self) -> tuple[str, ...]:
        return self.entry.options.nodes or tuple(self.scene.ensemble.nodes)

    def inject(self) -> None:
        """Cut, and let those go on that were frozen so as not to change roles meanwhile."""
        try:
            for client in self._clients:
                if release := self.scene.armed.pop(client, None):
                    release()
                self.scene.links.cut(client, self.how, self._nodes())
        finally:
            for client in self._pinned:
                self.scene.clients.resume(client)

    def in_force(self) -> Finding:
        """The links say that they are cut, in the way that was asked for."""
        links = self.scene.links
        wanted = dict.fromkeys(self._nodes(), self.how)
        struck = self._clients
        if struck and self.scene.until(
            lambda: all(links.in_force(client) == wanted for client in struck), FORCE_BOUND
        ):
            return Finding(True, self.how)
        seen = ", ".join(f"c{client}: {links.in_force(client) or 'whole'}" for client in struck)
        return Finding(
            False, f"not in force after {FORCE_BOUND:g} s: {seen or 'nobody was struck'}"
        )

    def heal(self) -> None:
        """Mend their links."""
        for client in self._clients:
            self.scene.links.heal(client)

    def healed(self, timeout: float) -> Finding:
        """Their links are whole and they are connected again."""
        links = self.scene.links
        if not self.scene.until(
            lambda: not any(links.in_force(client) for client in self._clients), timeout
        ):
            left = ", ".join(f"c{client}" for client in self._clients if links.in_force(client))
            return Finding(False, f"links still cut after {timeout:g} s: {left}")
        return clients_back(self._clients, self.scene, timeout)

    def record(self) -> dict[str, Any]:
        """How the links are cut."""
        return {"how": self.how}


class LostReply(ClientPartition):
    """The reply to a client's next create or set is lost, though it took effect.

    It strikes by itself when a client asks for such a change, so it counts as in force once links
    wait for that, and as having happened (when it is healed) if at least one of them struck. Until
    then it gives way to other faults of links.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._refused: dict[int, int] = {}
        self._struck: set[int] = set()

    def inject(self) -> None:
        """Arm the links."""
        self._refused = {client: self.scene.links.swallowed(client) for client in self._clients}
        super().inject()
        for client in self._clients:
            self.scene.armed[client] = partial(self._release, client)

    def _release(self, client: int) -> None:
        """See whether the links of a client struck, before somebody else takes them over."""
        if self.scene.links.swallowed(client) > self._refused.pop(client):
            self._struck.add(client)

    def in_force(self) -> Finding:
        """The links wait for a change, or have struck already."""
        links = self.scene.links
        wanted = dict.fromkeys(self._nodes(), self.how)

        def armed(client: int) -> bool:
            return (
                links.in_force(client) == wanted or links.swallowed(client) > self._refused[client]
            )

        if self._clients and self.scene.until(
            lambda: all(armed(client) for client in self._clients), FORCE_BOUND
        ):
            return Finding(True, "lost-reply armed")
        return Finding(False, f"links not armed after {FORCE_BOUND:g} s")

    def heal(self) -> None:
        """Disarm the links that still wait; those that others took over are theirs to mend."""
        for client in list(self._refused):
            self._release(client)
            self.scene.armed.pop(client, None)
            if self.scene.links.in_force(client):
                self.scene.links.heal(client)

    def healed(self, timeout: float) -> Finding:
        """No link waits any more, and at least one reply was lost."""
        links = self.scene.links

        def disarmed() -> bool:
            return not any("lost-reply" in links.in_force(c).values() for c in self._clients)

        if not self.scene.until(disarmed, timeout):
            return Finding(False, f"links still armed after {timeout:g} s")
        back = clients_back(self._clients, self.scene, timeout)
        if back.ok and not self._struck:
            return Finding(
                False, "no reply was lost: none of these clients created or set anything"
            )
        lost = ", ".join(f"c{client}" for client in sorted(self._struck))
        return Finding(back.ok, f"replies lost: {lost or 'none'}; {back.words}")

    def record(self) -> dict[str, Any]:
        """How, and whose replies were lost so far."""
        return {"how": self.how, "struck": [f"c{client}" for client in sorted(self._struck)]}
