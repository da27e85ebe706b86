"""Whether a run's operations follow a model (of a register, say), as one check of a verdict.

Clients' processes import this module with their workload, so what decides is imported late.
"""

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING

from rumpus.checker.check import check
from rumpus.checker.history import History
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

if TYPE_CHECKING:
    from rumpus.checker.deciders.decide import ModelEntry
    from rumpus.checker.deciders.decision import Witness
    from rumpus.checker.deciders.operation_table import OperationTable
    from rumpus.checker.models.model import Model

NOT_LINEARIZABLE = Kind("not-linearizable", "no order of the operations explains all their results")
DUPLICATE_SEQUENCE = Kind("duplicate-sequence", "one sequence number was given out twice")

SECONDS = 10.0
BYTES = 512 << 20
"""The time and memory that a search may take: histories of runs need a fraction of a second."""


@check("model", finds=[NOT_LINEARIZABLE, DUPLICATE_SEQUENCE])
def check_model(
    timeline: Timeline,
    model: "str | type[Model] | ModelEntry",
    anomaly: str,
    *,
    functions: Collection[str] | None = None,
    initial: Hashable = None,
) -> CheckResult:
    """Decide whether a history follows a model.

    Args:
        timeline: the run.
        model: the model's name (docs/reference/models.md), its class, or its entry.
        anomaly: the kind of anomaly to report if it does not.
        functions: names of the operations that count; all that the model knows by default.
        initial: the model's initial value, as for ``rumpus check --initial``.

    Raises:
        WrongOperations: the model does not know a value.
    """
    from rumpus.checker.deciders.decide import ModelEntry, decide  # noqa: PLC0415 - heavy
    from rumpus.checker.deciders.decision import Budget  # noqa: PLC0415 - as the others here
    from rumpus.checker.deciders.registry import MODELS  # noqa: PLC0415
    from rumpus.checker.deciders.table_builder import table_of  # noqa: PLC0415
    from rumpus.checker.linearizability.own_model import entry_of  # noqa: PLC0415

    history = timeline.history
    entry = model
    if isinstance(entry, str):
        entry = MODELS[entry]
    elif not isinstance(entry, ModelEntry):
        entry = entry_of(entry.__name__, entry)
    table = table_of(history)
    part = table.only(*(entry.functions if functions is None else functions))
    decision = decide(entry, part, initial, Budget(SECONDS, BYTES))
    result = CheckResult(name=entry.name, unknown=list(decision.unknown))
    result.stats = {"operations": len(part), "algorithm": decision.algorithm}
    if decision.witness is not None:
        result.anomalies.append(_anomaly(history, part, decision.witness, anomaly))
    return result


def _anomaly(history: History, part: "OperationTable", witness: "Witness", kind: str) -> Anomaly:
    """What a witness shows; ``part``: the operations in which its rows are."""
    rows = witness.operations
    ends = [int(part.completion[row]) for row in rows]
    return Anomaly(
        kind=kind,
        description=witness.description,
        ops=sorted({*(int(part.index[row]) for row in rows), *ends} - {-1}),
        clients=sorted({history.client_of(int(part.process[row])) for row in rows}),
        start=int(part.call[rows].min()),
        end=min(int(part.returned[rows].max()), history.end),
    )
