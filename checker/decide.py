"""One front for all models: which algorithm decides what, and the answer."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from checker.decision import Budget, Decision, accepted, undecided
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


def by_key(table: OperationTable, decide_part: Callable[[OperationTable], Decision]) -> Decision:
    """Each object (field ``key``) judged by itself.

    That is enough: a history is linearizable if and only if it is so object by object (Herlihy
    and Wing 1990, theorem 1). The parts are in order of call and know their whole's ``start``;
    rows of a witness are given back as rows of the whole. The first key (in the order in which
    they occur) that is refused decides; what stays unknown of the others is said key by key.
    """
    keys = table.fields.get("key")
    if keys is None or not len(table) or bool((keys.numbers == keys.numbers[0]).all()):
        return decide_part(table)
    order = np.argsort(keys.numbers, kind="stable")
    grouped = keys.numbers[order]
    groups = np.split(order, np.flatnonzero(grouped[1:] != grouped[:-1]) + 1)
    groups.sort(key=lambda rows: int(rows[0]))
    algorithms: dict[str, None] = {}
    unknown: list[str] = []
    for rows in groups:
        part = decide_part(table.take(rows))
        algorithms[part.algorithm] = None
        name = f"key {keys[int(rows[0])]!r}"
        if part.valid is False:
            if witness := part.witness:
                witness.operations = [int(rows[row]) for row in witness.operations]
                witness.description = f"{name}: {witness.description}"
                if witness.prefix is not None:
                    witness.prefix = [int(rows[row]) for row in witness.prefix]
                if witness.stuck is not None:
                    witness.stuck = int(rows[witness.stuck])
            return part
        unknown += [f"{name}: {each}" for each in part.unknown]
    decision = undecided(*unknown) if unknown else accepted()
    decision.algorithm = ", ".join(name for name in algorithms if name)
    return decision
