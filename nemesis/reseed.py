"""The fault ``reseed``: another future of the same past.

It breaks nothing. From its beginning on everything that the simulation draws (which thread runs
next, how long a packet takes, what programs draw themselves) comes from other streams of random
numbers. Two plans that differ in its number make runs that are the same up to there, and differ
from there on.
"""

from collections.abc import Sequence

from rumpus.nemesis.entry import Entry, PlanError
from rumpus.nemesis.fault import Draft, Fault, FaultOptions, Turn
from rumpus.nemesis.fault_context import Finding
from rumpus.nemesis.targets import Targets


class ReseedOptions(FaultOptions, frozen=True):
    """``number``: which future."""

    number: int = 0


class Reseed(Fault[str]):
    """Draw all random choices anew."""

    kind = "reseed"
    summary = (
        "nothing is broken: from then on all random choices of the simulation are drawn anew, so "
        "that the run has another future"
    )
    works_on = "random choices"
    needs = "simulation"
    usual = False
    drawn = False
    takes = ReseedOptions
    target_fields = ()

    @classmethod
    def draw(cls, turn: Turn) -> Draft:
        """Draw a future."""
        return Draft(Targets(), {"number": turn.rng.getrandbits(32)})

    @classmethod
    def check(cls, entry: Entry, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Refuse targets: it has none."""
        cls.check_targets(entry.targets, nodes, clients)
        cls.read_options(entry).check(nodes)

    @classmethod
    def check_targets(cls, targets: Targets, nodes: Sequence[str], clients: Sequence[str]) -> None:
        """Refuse all."""
        del nodes, clients
        if targets != Targets():
            raise PlanError(f'field "targets" must be empty for {cls.kind}')

    @property
    def targets(self) -> list[str]:
        """None."""
        return []

    def choose(self) -> None:
        """Choose nothing."""

    def inject(self) -> None:
        """Draw from other streams from now on."""
        self.context.machines.reseed(self.options.number)

    def in_force(self) -> Finding:
        """It is, at once."""
        return Finding(True, f"future {self.options.number}")

    def heal(self) -> None:
        """Do nothing: the past does not come back."""

    def healed(self, timeout: float) -> Finding:
        """Nothing was broken."""
        del timeout
        return Finding(True, "nothing was broken")
