"""Where a run takes place: what ``rumpus run`` needs to know of docker and of the simulation."""

from collections.abc import Callable
from typing import Any, Protocol

from rumpus.harness.run import Run, Status
from rumpus.nemesis.plan import FaultPlan
from rumpus.results.record import ClockAnchor, RunRecord
from rumpus.results.run_directory import RunDirectory


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
        """Perform a run from start to end; ``record`` is told what is known only after it.

        Raises:
            EnvironmentRefusal: the host does not allow it.
            WorkerCrash: a client's process failed by itself.
        """
