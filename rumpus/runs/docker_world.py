"""Runs on real servers: an ensemble in containers, clients that are processes, real time."""

from collections.abc import Callable
from functools import partial

from rumpus.harness.docker.container_workers import ContainerWorkers
from rumpus.harness.docker.engine import connect
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import ensure_image, ensure_node_image
from rumpus.harness.docker.leftovers import remove_dead_runs
from rumpus.harness.docker.systems import SYSTEMS
from rumpus.harness.docker.zookeeper_server import WHERE_TESTED
from rumpus.harness.ensemble import Availability, Capability
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import prepare, require
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.runs.real_world import RealWorld


class DockerWorld(RealWorld):
    """Where a run takes place, on docker; see ``rumpus.runs.world.World``.

    Args:
        run_id: the run's id, which its containers carry.
        nodes: how many servers.
        image: the servers' container image; None for the one that rumpus builds.
        tick_ms: the servers' ``tickTime``.
        say: called with a line for every step.
        system: what the servers are, a name of ``harness.docker.systems``.
        probing: whether the servers are tested themselves.
        client_image: the folder of ``docker/`` with the image of the clients; empty: they are
            processes of Python.
    """

    kind = "docker"

    def __init__(
        self,
        run_id: str,
        *,
        nodes: int,
        image: str | None,
        tick_ms: int,
        say: Callable[[str], None],
        system: str = ZOOKEEPER,
        client_image: str = "",
        probing: bool = False,
    ) -> None:
        super().__init__(
            DockerEnsemble(
                run_id,
                nodes=nodes,
                image=image,
                tick_ms=tick_ms,
                system=system,
                flags=WHERE_TESTED if probing and system == ZOOKEEPER else "",
                report=say,
            ),
            say,
        )
        self._run_id = run_id
        self._client_image = client_image
        self._system = SYSTEMS[system]
        self._tick_ms = tick_ms
        self._wanted = image

    def prepare(self, plan: FaultPlan) -> None:
        """Make sure that the engine answers and has the images; remove what killed runs left."""
        engine = connect()
        try:
            remove_dead_runs(engine, self._say)
            ensure_node_image(engine, self._say)
            if self._client_image:
                tag = ensure_node_image(engine, self._say, self._client_image)
                self._workers = partial(ContainerWorkers, run_id=self._run_id, image=tag)
            server = self._system.server(self._tick_ms)
            self.image = ensure_node_image(engine, self._say, server.image)
            if self._wanted is not None:
                self.image = ensure_image(engine, self._wanted, self._say)
        finally:
            engine.close()
        clients: dict[Capability, Availability] = (
            {"stall": Availability(True)} if self._client_image else {}
        )
        require(plan.kinds, self._ensemble, clients)
        prepare(plan.entries, self._ensemble)
