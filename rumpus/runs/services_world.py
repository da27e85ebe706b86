"""Runs on servers of the user's (``--service``): nothing is started but the clients."""

from collections.abc import Callable, Mapping

from rumpus.harness.service_ensemble import ServiceEnsemble
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import prepare, require
from rumpus.recipes.servers import Address
from rumpus.runs.real_world import RealWorld


class ServicesWorld(RealWorld):
    """Where a run takes place whose recipe lives on services; see ``rumpus.runs.world.World``.

    Args:
        services: name -> host and port.
        say: called with a line for every step.
    """

    kind = "services"

    def __init__(self, services: Mapping[str, Address], say: Callable[[str], None]) -> None:
        super().__init__(ServiceEnsemble(services), say)

    def prepare(self, plan: FaultPlan) -> None:
        """Refuse faults of servers, and services that accept no connections."""
        require(plan.kinds, self._ensemble)
        prepare(plan.entries, self._ensemble)
        self._ensemble.start()
