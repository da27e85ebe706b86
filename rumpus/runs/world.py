"""Where a run takes place: the interface of ``rumpus run`` to Docker and to the simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rumpus.harness.run import Branch, Run, Status
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.runner import Nemesis
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory


@dataclass(frozen=True)
class RunOrder:
    """A run that a world is to perform, and where to put its results.

    Args:
        run: what the harness does.
        plan: the faults.
        seed: decides every random choice.
        directory: the run's directory.
        record: the run's record, completed with what is known only after the run.
        status: kept up to date with how far the run is.
        stop_requested: once it answers true, the run is brought to its end.
        branch: as for ``harness.run.perform``; simulated runs only.
    """

    run: Run
    plan: FaultPlan
    seed: int
    directory: RunDirectory
    record: RunRecord
    status: Status
    stop_requested: Callable[[], bool]
    branch: Branch | None = None

    def nemesis(self) -> partial[Nemesis]:
        """The constructor of the nemesis; its caller adds what faults act on (servers, clients)."""
        return partial(Nemesis, self.plan, seed=self.seed, stop_requested=self.stop_requested)

    def note_clocks(self) -> None:
        """Add the readings of the clocks that were made during the run to the record."""
        self.record.clock_anchors += [ClockAnchor(**reading) for reading in self.status.anchors]


class World(Protocol):
    """The surroundings of one run. Its methods are called in the order in which they stand here."""

    kind: str
    """``docker``, ``sim``, or ``services``."""
    options: dict[str, Any]
    """The options that only this kind of world has, for the run's record."""
    image: str | None
    """The servers' container image, known after ``prepare``; None for simulated servers."""

    def prepare(self, plan: FaultPlan) -> None:
        """Make sure that the run can be performed here.

        Raises:
            EnvironmentRefusal: it cannot.
        """

    def begin(self) -> ClockAnchor:
        """Start the run's clock; what it and the wall clock show at that moment."""

    def perform(self, order: RunOrder) -> None:
        """Perform a run from start to end.

        Raises:
            EnvironmentRefusal: the host does not allow it.
            WorkerCrash: a client's process failed by itself.
        """
