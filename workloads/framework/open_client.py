"""The client's side of a workload: runs the operations on what the workload has opened."""

import time
from typing import Any

from rumpus.harness.clients.client_body import Outcome
from rumpus.recipes.outcomes import NotDone, OutcomeUnknown


class OpenClient:
    """The client's side of a run. Implements ``harness.clients.client_body.WorkloadClient``.

    Args:
        workload: what its operations are (``workloads.framework.workload.Workload``).
        opened: what they work on.
        rest: seconds to rest after an operation that failed in less time than that.
    """

    def __init__(self, workload: Any, opened: Any, rest: float = 0.0) -> None:
        self._rest = rest
        self._workload = workload
        self._opened = opened
        self._operations = workload.operations
        self._prepared = False
        self.grants = workload.words.acquire if workload.tells_belief else ""
        self.ends = workload.words.release if workload.tells_belief else ""

    def believes(self) -> bool | float:
        """See ``Workload.believes``."""
        belief: bool | float = self._workload.believes(self._opened)
        return belief

    def close(self) -> None:
        """See ``Workload.close``."""
        self._workload.close(self._opened)

    def take(self, opened: Any) -> None:
        """Let the following operations work on something else."""
        self._opened = opened
        self._prepared = False

    def invoke(self, f: str, value: Any) -> Outcome:
        """Run one operation."""
        operation = self._operations.get(f)
        if operation is None:
            raise ValueError(f"a client of {self._workload.name} knows no operation {f!r}")
        if not self._prepared:
            try:
                self._workload.prepare(self._opened)
            except (NotDone, OutcomeUnknown) as error:
                return Outcome("fail", error=f"not begun: {error}")
            self._prepared = True
        if not self._rest:
            done: Outcome = operation.perform(self._opened, value)
            return done
        began = time.monotonic()
        outcome: Outcome = operation.perform(self._opened, value)
        if outcome.type != "ok" and time.monotonic() - began < self._rest:
            time.sleep(self._rest)
        return outcome
