"""Faults of clients: how their targets are checked, drawn and chosen."""

from collections.abc import Sequence
from typing import ClassVar

from rumpus.nemesis.entry import check_names, one_of
from rumpus.nemesis.fault import Draft, Fault, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.recovery import clients_back
from rumpus.nemesis.targets import CLIENT_ROLES, Targets, choose_clients


class ClientFault(Fault[int]):
    """A fault of clients, chosen by name or by role.

    By default the first fault of a kind in a random plan affects the holder.
    """

    stays_frozen: ClassVar[bool] = False
    """Whether clients that ``choose`` froze in their role stay frozen until ``inject``."""
    _pinned: Sequence[int] = ()
    """The clients frozen by ``choose``."""

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a role."""
        return Draft(Targets(role="holder" if turn.first else cls.draw_role(turn)))

    @staticmethod
    def draw_role(turn: Turn) -> str:
        """Draw a role, any but ``all``."""
        return turn.rng.choice(("one", "holder", "next-in-line", "random"))

    @classmethod
    def check_targets(cls, targets: Targets, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Refuse names and roles that do not exist."""
        del nodes
        if targets.of is not None:
            return
        if targets.names is None:
            one_of("targets.role", targets.role, CLIENT_ROLES)
            return
        names = [n if isinstance(n, str) else f"c{n}" for n in targets.names]
        check_names("targets.names", names, clients)

    @property
    def targets(self) -> list[str]:
        """The clients chosen."""
        return [f"c{client}" for client in self.chosen]

    def eligible(self) -> list[int]:
        """The clients that the fault can affect now: those that run."""
        return self.context.running_clients()

    def choose(self) -> None:
        """Choose among the eligible clients."""
        self.chosen, self._pinned, self.reason = choose_clients(
            self.entry.targets, self.context, self.rng, eligible=self.eligible
        )
        if not self.stays_frozen:
            self.resume_pinned()

    def resume_pinned(self) -> None:
        """Resume the clients that ``choose`` has frozen."""
        for client in self._pinned:
            self.context.clients.resume(client)

    def healed(self, timeout: float) -> Finding:
        """Wait until the chosen clients run and are connected again."""
        return clients_back(self.chosen, self.context, timeout)
