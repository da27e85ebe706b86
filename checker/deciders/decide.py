"""One front for all models: which algorithm decides what, and the answer."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision, accepted, undecided
from rumpus.checker.deciders.operation_table import OK, Ints, OperationTable, WrongOperations

NO_PART = "no part of the model"
"""What a model says of operations that it lets pass: they are no evidence of anything."""

FIRST_SHARE_S = 0.25
"""How long the first search for each object may take."""


@dataclass(frozen=True)
class Algorithm:
    """A line of the table of algorithms: what is used when, its cost, and where it is from."""

    name: str
    when: str
    cost: str
    source: str


def searched(when: str, name: str = "windowed search") -> Algorithm:
    """The table's line of the general search."""
    return Algorithm(
        name=name,
        when=when,
        cost="exponential in the operations that are open at once, else linear",
        source="Wing and Gong, JPDC 1993; Lowe, Testing for linearizability, CCPE 2017",
    )


@dataclass(frozen=True)
class ModelEntry:
    """A model under its name: what its operations are, and what decides it.

    Attributes:
        name: as in ``--model``.
        summary: one line.
        functions: the operations it knows, as name -> arguments and results in words.
        runs: the families whose runs it judges, or why it judges none; in words.
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
    runs: str = ""


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


def count_answered(entry: ModelEntry, table: OperationTable) -> int:
    """How many operations have an answer that a model can contradict."""
    names = [name for name, meaning in entry.functions.items() if meaning != NO_PART]
    return int(np.count_nonzero(table.is_f(*names) & ((table.outcome == OK) | table.refused)))


def by_key(table: OperationTable, decide_part: Callable[[OperationTable], Decision]) -> Decision:
    """Each object (field ``key``) judged by itself.

    That is enough: a history is linearizable if and only if it is so object by object (Herlihy
    and Wing 1990, theorem 1). The parts are in order of call and know their whole's ``start``;
    rows of a witness are given back as rows of the whole. The first key (in the order in which
    they occur) that is refused decides; what stays unknown of the others is said key by key.
    """
    return in_turns(table, lambda part, _: decide_part(part), Budget())


def decided_by(
    algorithm: Algorithm, decide_part: Callable[[OperationTable], Decision]
) -> Callable[[OperationTable, Hashable, Budget], Decision]:
    """``decide`` of a model without an initial value, decided by one algorithm, key by key."""

    def decide(table: OperationTable, _initial: Hashable, _budget: Budget) -> Decision:
        decision = by_key(table, decide_part)
        decision.algorithm = algorithm.name
        return decision

    return decide


def in_turns(
    table: OperationTable,
    decide_part: Callable[[OperationTable, Budget], Decision],
    budget: Budget,
) -> Decision:
    """Each object judged by itself, with a share of the budget.

    As `by_key`, but no object for which there is a long search hides a violation of another: all
    have their turn with `FIRST_SHARE_S`, and those that are still undecided then with ten times as
    much, and so on. The decision of an object that did not use up its share is final.

    Args:
        table: the whole history.
        decide_part: the operations on one object, and a budget -> decision.
        budget: for all objects together.
    """
    keys = table.fields.get("key")
    if keys is None or not len(table) or bool((keys.numbers == keys.numbers[0]).all()):
        return decide_part(table, budget)
    order = np.argsort(keys.numbers, kind="stable")
    grouped = keys.numbers[order]
    groups = np.split(order, np.flatnonzero(grouped[1:] != grouped[:-1]) + 1)
    groups.sort(key=lambda rows: int(rows[0]))
    decisions: dict[int, Decision] = {}
    waiting = list(range(len(groups)))
    share = FIRST_SHARE_S
    while waiting:
        unfinished: list[int] = []
        for done, number in enumerate(waiting):
            rows = groups[number]
            part = table.take(rows)
            left = budget.deadline - budget.clock()
            fair = left / (len(waiting) - done)
            last = share >= fair
            own = Budget(fair if last else share, budget.bytes, budget.clock)
            decision = decide_part(part, own)
            if decision.valid is False:
                if not last and decision.witness is not None and not decision.witness.minimal:
                    left = budget.deadline - budget.clock()
                    decision = decide_part(part, Budget(left, budget.bytes, budget.clock))
                return _of_whole(decision, rows, f"key {keys[int(rows[0])]!r}")
            decisions[number] = decision
            if decision.valid == "unknown" and own.spent and not last:
                unfinished.append(number)
        waiting = unfinished
        share *= 10
    unknown = [
        f"key {keys[int(rows[0])]!r}: {each}"
        for number, rows in enumerate(groups)
        for each in decisions[number].unknown
    ]
    whole = undecided(*unknown) if unknown else accepted()
    algorithms = dict.fromkeys(decisions[number].algorithm for number in range(len(groups)))
    whole.algorithm = ", ".join(name for name in algorithms if name)
    return whole


def _of_whole(decision: Decision, rows: Ints, name: str) -> Decision:
    """The refusal of a part, with rows of the whole."""
    if witness := decision.witness:
        witness.operations = [int(rows[row]) for row in witness.operations]
        witness.description = f"{name}: {witness.description}"
        if witness.prefix is not None:
            witness.prefix = [int(rows[row]) for row in witness.prefix]
        if witness.stuck is not None:
            witness.stuck = int(rows[witness.stuck])
    return decision
