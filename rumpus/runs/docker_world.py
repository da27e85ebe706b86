"""Runs on real servers: an ensemble in containers, clients that are processes, real time."""

import time
from collections.abc import Callable
from typing import Any

from rumpus.harness.docker.engine import connect, refusals
from rumpus.harness.docker.ensemble import DockerEnsemble
from rumpus.harness.docker.image import ensure_image, ensure_node_image
from rumpus.harness.docker.leftovers import find_leftovers, remove_leftovers
from rumpus.harness.links.link_process import ProcessLinks
from rumpus.harness.run import Run, Status, monotonic_and_wall, perform
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import require
from rumpus.nemesis.runner import Nemesis
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory


class DockerWorld:
    """Where a run takes place, on docker; see ``rumpus.commands.run_command.World``.

    Args:
        run_id: the run's id, which its containers carry.
        nodes: how many servers.
        image: theirs; None for our own.
        tick_ms: their ``tickTime``.
        say: told of every step.
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
    ) -> None:
        self._say = say
        self._ensemble = DockerEnsemble(
            run_id, nodes=nodes, image=image, tick_ms=tick_ms, report=say
        )
        self._wanted = image
        self.image: str | None = None
        self.options: dict[str, Any] = {}
        self._origin = 0

    def prepare(self, plan: FaultPlan) -> None:
        """See that the engine answers and has the images; clear away what killed runs left."""
        engine = connect()
        try:
            with refusals("removing what killed runs left"):
                leftovers = find_leftovers(engine)
                if leftovers:
                    self._say(f"removing what is left of {'; '.join(map(str, leftovers))}")
                    remove_leftovers(leftovers)
            self.image = ensure_node_image(engine, self._say)
            if self._wanted is not None:
                self.image = ensure_image(engine, self._wanted, self._say)
        finally:
            engine.close()
        require(plan.kinds, self._ensemble)

    def begin(self) -> ClockAnchor:
        """Set the run's clock to 0 now; both clocks at that time."""
        self._origin = time.monotonic_ns()
        return self._read_clocks()

    def perform(
        self,
        run: Run,
        plan: FaultPlan,
        seed: int,
        *,
        directory: RunDirectory,
        record: RunRecord,
        status: Status,
        stop_requested: Callable[[], bool],
    ) -> None:
        """Perform a run from start to end; the record is told what is known only now."""
        status.origin = self._origin
        with directory.history_writer() as sink:
            perform(
                run,
                ensemble=self._ensemble,
                connect=ProcessLinks,
                nemesis=lambda servers, links, clients, roles: Nemesis(
                    plan, servers, links, clients, roles, seed, stop_requested=stop_requested
                ),
                sink=sink,
                logs=directory.clients,
                nodes=directory.nodes,
                origin=self._origin,
                status=status,
                step=self._say,
                stop_requested=stop_requested,
            )
        record.clock_anchors += [ClockAnchor(**reading) for reading in status.anchors]
        record.clock_anchors.append(self._read_clocks())

    def _read_clocks(self) -> ClockAnchor:
        return ClockAnchor(**monotonic_and_wall(self._origin))
