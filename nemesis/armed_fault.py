"""Faults that wait: something happens to a client once what they wait for has come."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rumpus.nemesis.client_fault import ClientFault
from rumpus.nemesis.fault_context import Finding, NeverActed

if TYPE_CHECKING:
    from rumpus.harness.links.triggers import ArmedTrigger


class ArmedFault(ClientFault):
    """A trigger is armed for each client chosen.

    The fault is in force once all triggers are armed, and counts as healed only if at least one of
    them has acted.
    """

    awaited: ClassVar[str]
    """What it waits for, in a word."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.armed: dict[int, ArmedTrigger] = {}

    @abstractmethod
    def words(self) -> str:
        """What happens, and at what."""

    def in_force(self) -> Finding:
        """All triggers are armed."""
        return Finding(bool(self.armed) and len(self.armed) == len(self.chosen), self.words())

    def heal(self) -> None:
        """Withdraw the triggers."""
        for armed in self.armed.values():
            armed.withdraw()

    def healed(self, timeout: float) -> Finding:
        """At least one trigger has acted, and all clients are connected."""
        back = super().healed(timeout)
        struck = self.struck()
        if back.ok and not struck:
            return NeverActed(False, f"nothing happened: no such {self.awaited} came")
        return Finding(back.ok, f"struck: {', '.join(struck) or 'none'}; {back.detail}")

    def struck(self) -> Sequence[str]:
        """The clients to which something has happened."""
        return [f"c{c}" for c, armed in self.armed.items() if armed.acted is not None]

    def record(self) -> dict[str, Any]:
        """What happened to whom so far."""
        return {"how": self.words(), "struck": self.struck()}
