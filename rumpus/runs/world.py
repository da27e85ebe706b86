"""Where a run takes place: what ``rumpus run`` needs to know of docker and of the simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rumpus.harness.run import Run, Status
from rumpus.nemesis.plan import FaultPlan
from rumpus.nemesis.runner import Nemesis
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory


@dataclass(frozen=True)
class RunOrder:
    """A run that a world is to perform, and where what comes of it goes.

    Args:
        run: what the harness does.
        plan: the faults.
        seed: of every random choice.
        directory: the run's.
        record: told what is known only after the run.
        status: told how far it is.
        stop_requested: once true, the run is brought to its end.
    """

    run: Run
    plan: FaultPlan
    seed: int
    directory: RunDirectory
    record: RunRecord
    status: Status
    stop_requested: Callable[[], bool]

    def nemesis(self) -> partial[Nemesis]:
        """Makes the nemesis, given the parts that it breaks."""
        return partial(Nemesis, self.plan, seed=self.seed, stop_requested=self.stop_requested)

    def note_clocks(self) -> None:
        """Have the record say how the clocks were read during the run."""
        self.record.clock_anchors += [ClockAnchor(**reading) for reading in self.status.anchors]


class World(Protocol):
    """One run's surroundings; the calls come in this order."""

    kind: str
    """``docker`` or ``sim``."""
    options: dict[str, Any]
    """What only this kind of world can be told, for the run's record."""
    image: str | None
    """The servers' container image, once prepared; None where there is none."""

    def prepare(self, plan: FaultPlan) -> None:
        """See that the run can be made here.

        Raises:
            EnvironmentRefusal: it cannot.
        """

    def begin(self) -> ClockAnchor:
        """Let the run's clock begin; both clocks at that moment."""

    def perform(self, order: RunOrder) -> None:
        """Perform a run from start to end.

        Raises:
            EnvironmentRefusal: the host does not allow it.
            WorkerCrash: a client's process failed by itself.
        """
