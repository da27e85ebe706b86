"""Runs in real time, whose clients are processes: on servers of the user's, or in containers.

Those in containers are in ``rumpus.runs.docker_world``, which needs what Docker needs.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from rumpus.harness.clients.worker_pool import WorkerPool
from rumpus.harness.ensemble import Ensemble
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.run import monotonic_and_wall, perform
from rumpus.harness.service_ensemble import ServiceEnsemble
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import prepare, require
from rumpus.recipes.servers import ZOOKEEPER, Address
from rumpus.results.record import ClockAnchor
from rumpus.runs.world import RunOrder

if TYPE_CHECKING:
    from rumpus.harness.clients.workers import Workers


class RealWorld:
    """Most of ``rumpus.runs.world.World``; subclasses have ``kind`` and ``prepare``.

    Args:
        ensemble: the servers.
        say: called with a line for every step.
    """

    def __init__(self, ensemble: Ensemble, say: Callable[[str], None]) -> None:
        self._ensemble = ensemble
        self._say = say
        self._workers: Callable[..., Workers] = WorkerPool
        self.image: str | None = None
        self.options: dict[str, Any] = {}
        self._origin = 0

    def begin(self) -> ClockAnchor:
        """Set the run's clock to 0 now; what it and the wall clock show at that time."""
        self._origin = time.monotonic_ns()
        return self._read_clocks()

    def perform(self, order: RunOrder) -> None:
        """Perform a run from start to end."""
        order.status.origin = self._origin
        with order.directory.history_writer() as sink:
            perform(
                order.run,
                ensemble=self._ensemble,
                connect=partial(
                    ProcessLinks,
                    sessions=order.run.clients.system == ZOOKEEPER,
                    origin=self._origin,
                    wire=order.directory.wire,
                ),
                nemesis=order.nemesis(),
                sink=sink,
                logs=order.directory.clients,
                nodes=order.directory.nodes,
                origin=self._origin,
                status=order.status,
                step=self._say,
                stop_requested=order.stop_requested,
                workers=self._workers,
            )
        order.note_clocks()
        order.record.clock_anchors.append(self._read_clocks())

    def _read_clocks(self) -> ClockAnchor:
        return ClockAnchor(**monotonic_and_wall(self._origin))


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
