"""One front for all models: which algorithm decides what, and the answer."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from checker.decision import Budget, Decision
from checker.operation_table import OperationTable, WrongOperations


@dataclass(frozen=True)
class Algorithm:
    """A line of the table of algorithms: what is used when, its cost, and where it is from."""

    name: str
    when: str
    cost: str
    source: str


@dataclass(frozen=True)
class ModelEntry:
    """A model under its name: what its operations are, and what decides it.

    Attributes:
        name: as in ``--model``.
        summary: one line.
        functions: the operations it knows, as name -> arguments and results in words.
        initial: what ``--initial`` is for this model, in words; None if it takes none.
        algorithms: the table's lines; the first that applies is used.
        decide: table, initial value (None if none was given), budget -> decision. It fills in
            ``algorithm``; the rows of its witness are rows of the table it was given.
    """

    name: str
    summary: str
    functions: dict[str, str]
    algorithms: Sequence[Algorithm]
    decide: Callable[[OperationTable, Hashable, Budget], Decision]
    initial: str | None = None


def decide(
    entry: ModelEntry,
    table: OperationTable,
    initial: Hashable = None,
    budget: Budget | None = None,
) -> Decision:
    """Whether the operations follow a model.

    Raises:
        WrongOperations: the model does not know some operation or value; the message names it.
    """
    unknown = [name for name in table.functions if name not in entry.functions]
    if unknown:
        raise WrongOperations(
            f"{entry.name} knows no operation {', '.join(map(repr, sorted(unknown)))}; "
            f"it knows {', '.join(entry.functions)}"
        )
    decision = entry.decide(table, initial, budget or Budget())
    decision.model = entry.name
    decision.operations = len(table)
    return decision
