"""Dry runs of what a workload generates: its load and its final phase, without clients."""

from dataclasses import dataclass
from typing import Any

from rumpus.harness.generators.combinators import on_clients
from rumpus.harness.generators.seed import Seed
from rumpus.harness.generators.workload_context import WorkloadContext
from rumpus.workloads.framework.workload import Workload
from tests.harness.generators.dry_run import DryRun, dry_run, perfect


@dataclass(frozen=True)
class DryRuns:
    """A workload for so many clients. ``until``: when its load ends, in nanoseconds."""

    workload: Workload
    clients: int
    until: int
    recipe: Any = None

    def load(self, behaviour=perfect, **options) -> DryRun:
        """Of the load; ``options`` are those of ``dry_run``."""
        return self._run(self.workload.load_of(self.context(self.until)), behaviour, options)

    def final(self, behaviour=perfect, **options) -> DryRun:
        """Of the final phase."""
        return self._run(self.workload.final_of(self.context()), behaviour, options)

    def context(self, until: int = 0) -> WorkloadContext:
        return WorkloadContext(Seed(1), self.recipe, self.clients, 2.0, until=until)

    def _run(self, generator, behaviour, options) -> DryRun:
        options.setdefault("seed", Seed(2))
        return dry_run(
            on_clients(generator),
            clients=self.clients,
            nemesis=False,
            behaviour=behaviour,
            **options,
        )


def invocations(run: DryRun):
    """The records of operations that were called, in their order."""
    return [op for op in run.history if op.type == "invoke"]
