"""Runs in a simulated world: everything in this process, on virtual time, from one seed."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from rumpus.harness.links.wire_tap import WireLog
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.harness.simulated.run import ORIGIN, SimulatedRun, perform_simulated
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.registry import are_sound, availability, refuse
from rumpus.results.record import ClockAnchor
from rumpus.results.run_directory import RunDirectory
from rumpus.results.store_error import StoreError
from rumpus.runs.held_records import HeldRecords
from rumpus.runs.world import RunOrder
from rumpus.simulation.kernel.clock import EPOCH
from rumpus.simulation.kernel.preemption import Mode
from rumpus.simulation.kernel.simulator import SECOND
from rumpus.simulation.loader.refusals import CannotSimulate
from rumpus.simulation.zookeeper.mutants.server_mutant import ServerMutant
from rumpus.usage_error import UsageError

SPREAD_S = 50_000_000
"""All runs begin within this many seconds after the simulation's ``EPOCH``."""


class SimWorld:
    """Where a run takes place, in the simulation; see ``rumpus.runs.world.World``.

    Args:
        nodes: how many servers.
        tick_ms: the servers' ``tickTime``.
        run: workload, recipe and seed. They decide when the run begins. So different runs have
            sessions with different ids, as real runs have, and what belongs to another run can be
            recognized.
        preemption: when clients' threads may be preempted.
        mutant: a mistake that the servers have, if any.
        private: packages of which each client has its own copy, besides those that are found.
        shared: packages that all clients share, whatever is found.
        say: called with a line for every step.
    """

    kind = "sim"
    image: str | None = None

    def __init__(
        self,
        *,
        nodes: int,
        tick_ms: int,
        run: tuple[str, str, int],
        preemption: Mode,
        mutant: ServerMutant | None = None,
        private: Sequence[str] = (),
        shared: Sequence[str] = (),
        say: Callable[[str], None],
    ) -> None:
        self.options: dict[str, Any] = {"preemption": preemption}
        if mutant is not None:
            self.options["server_mutant"] = mutant.name
        self._nodes = nodes
        self._tick_ms = tick_ms
        self._epoch = EPOCH + Random(" ".join(map(str, run))).randrange(SPREAD_S) * SECOND
        self._preemption: Mode = preemption
        self._mutant = mutant
        self._private, self._shared = private, shared
        self._say = say

    def prepare(self, plan: FaultPlan) -> None:
        """Refuse faults of other repositories that need what only real servers have."""
        refuse(plan.kinds, availability(OFFERED, self.kind))

    def begin(self) -> ClockAnchor:
        """What the run's clock and the wall clock show at the beginning of the simulation."""
        return ClockAnchor(monotonic=0, wall=self._epoch)

    def perform(self, order: RunOrder) -> None:
        """Perform a run from start to end.

        Raises:
            UsageError: the recipe's program does what cannot be simulated.
        """
        try:
            simulated = self._perform(order)
        except CannotSimulate as error:
            raise UsageError(str(error)) from error
        order.note_clocks()
        order.record.digest = simulated.digest
        order.record.virtual_seconds = round(simulated.virtual_seconds, 6)

    def _perform(self, order: RunOrder) -> SimulatedRun:
        wire = WireLog(ORIGIN)
        with order.directory.history_writer() as writer, _kept(wire, order.directory):
            return perform_simulated(
                order.run,
                seed=order.seed,
                nodes=self._nodes,
                nemesis=order.nemesis(),
                sink=writer if order.branch is None else HeldRecords(writer, order.record),
                logs=order.directory.clients,
                node_files=order.directory.nodes,
                epoch=self._epoch,
                tick_ms=self._tick_ms,
                # Branches may have kinds that are not sound.
                check_invariants=order.branch is None and are_sound(order.plan.kinds),
                preemption=self._preemption,
                mutant=self._mutant,
                private=self._private,
                shared=self._shared,
                status=order.status,
                step=self._say,
                stop_requested=order.stop_requested,
                branch=order.branch,
                wire=wire,
            )


@contextlib.contextmanager
def _kept(wire: WireLog, directory: RunDirectory) -> Iterator[None]:
    """Write what passed on the links when the run is over, however it ended.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        yield
    finally:
        try:
            directory.wire.write_bytes(wire.finish())
        except OSError as error:
            what = "write what passed on the links"
            raise StoreError.from_os_error(directory.wire, what, error) from error
