"""The interface of all deciders: a model's entry, and the decision of a history by it."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision, accepted, undecided
from rumpus.checker.deciders.operation_table import FIELDS, OK, WITHOUT_VALUE, OperationTable
from rumpus.checker.deciders.program_order import program_order
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.deciders.wording import at, who

NO_PART = "no part of the model"
"""The meaning, in ``ModelEntry.functions``, of operations that a model ignores."""

FIRST_SHARE_S = 0.25
"""Seconds that the first search for each object may take."""


MOST_ALONE = 8
"""How many processes of a witness have their order tried alone (`program_order`)."""


@dataclass(frozen=True)
class Algorithm:
    """A row of a model's table of algorithms: when it is used, its cost, and its source."""

    name: str
    when: str
    cost: str
    source: str


def searched(when: str, name: str = "windowed search") -> Algorithm:
    """The row of the general search."""
    return Algorithm(
        name=name,
        when=when,
        cost="exponential in the operations that are open at once, else linear",
        source="Wing and Gong, JPDC 1993; Lowe, Testing for linearizability, CCPE 2017",
    )


Decider = Callable[[OperationTable, Hashable, Budget], Decision]
"""Table, initial value (None if none was given), budget -> decision."""


@dataclass(frozen=True)
class ModelEntry:
    """A model: its name, its operations, and what decides it.

    Attributes:
        name: as in ``--model``.
        summary: one line.
        functions: the operations it knows: name -> arguments and results in words.
        runs: the families whose runs it judges, or why it judges none; in words.
        initial: the meaning of ``--initial`` for this model, in words; None if it takes none.
        algorithms: the first one that applies is used.
        decide: decides a history. Its decision names the ``algorithm``; the rows of its witness
            are rows of the table it was given.
        sequential: whether it takes the operations of each process in their order by itself. For
            the others their order is made visible in the times (`program_order`).
        values: whether its arguments and results are any values, also null.
        expires: whether what an operation gained ends with the session that its answer names.
    """

    name: str
    summary: str
    functions: dict[str, str]
    algorithms: Sequence[Algorithm]
    decide: Decider
    initial: str | None = None
    runs: str = ""
    sequential: bool = False
    values: bool = False
    expires: bool = False


def decide(
    entry: ModelEntry,
    table: OperationTable,
    initial: Hashable = None,
    budget: Budget | None = None,
) -> Decision:
    """Whether a history follows a model.

    Raises:
        WrongOperations: the model does not know an operation or value; the message names it.
    """
    unknown = [name for name in table.functions if name not in entry.functions]
    if unknown:
        raise WrongOperations(
            f"{entry.name} knows no operation {', '.join(map(repr, sorted(unknown)))}; "
            f"it knows {', '.join(entry.functions)}"
        )
    if entry.values and (alone := table.field(WITHOUT_VALUE).present).any():
        raise WrongOperations(
            f"{who(table, int(np.argmax(alone)))} has a value of nothing but fields "
            f"({', '.join(sorted(FIELDS - {'key', 'value', 'session'}))}), which are taken apart: "
            f'{entry.name} reads none of them, so say {{"value": ...}} around it'
        )
    decision = _in_program_order(entry, table, initial, budget or Budget())
    decision.model = entry.name
    decision.operations = len(table)
    return decision


def _in_program_order(
    entry: ModelEntry, table: OperationTable, initial: Hashable, budget: Budget
) -> Decision:
    """Decide a history in which the order of each process counts, also where times tie."""
    ordered = None if entry.sequential else program_order(table)
    if ordered is None:
        return entry.decide(table, initial, budget)
    decision = ordered.of_original(entry.decide(ordered.table, initial, budget))
    if decision.witness is None or not len(ordered.contested):
        return decision
    for process in np.unique(table.process[decision.witness.operations])[:MOST_ALONE].tolist():
        part = program_order(table, alone=process)
        assert part is not None
        certain = part.of_original(entry.decide(part.table, initial, budget))
        if certain.valid is False:
            return certain
    times = len(ordered.contested)
    unsettled = undecided(
        f"at {times:,} time{'s' if times > 1 else ''} several processes return and call again at "
        f"once, first at {at(table, int(ordered.contested[0]))}; in the order of the records the "
        "history does not follow the model, in another it may"
    )
    unsettled.algorithm = decision.algorithm
    return unsettled


def count_answered(entry: ModelEntry, table: OperationTable) -> int:
    """How many operations have an answer that the model may find wrong."""
    names = [name for name, meaning in entry.functions.items() if meaning != NO_PART]
    return int(np.count_nonzero(table.is_f(*names) & ((table.outcome == OK) | table.refused)))


def decided_key_by_key(decide_part: Decider, algorithm: Algorithm | None = None) -> Decider:
    """``ModelEntry.decide`` of a model whose objects are decided one by one (`in_turns`).

    Args:
        decide_part: decides the operations on one object.
        algorithm: what decided the parts whose decision does not say so.
    """

    def decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
        def decide_named(part: OperationTable, share: Budget) -> Decision:
            decision = decide_part(part, initial, share)
            if algorithm is not None and not decision.algorithm:
                decision.algorithm = algorithm.name
            return decision

        return in_turns(table, decide_named, budget)

    return decide


def in_turns(
    table: OperationTable,
    decide_part: Callable[[OperationTable, Budget], Decision],
    budget: Budget,
) -> Decision:
    """Decide each object (field ``key``) by itself, with a share of the budget.

    That is enough: a history is linearizable if and only if the part of each object is (Herlihy
    and Wing 1990, theorem 1). The parts are in order of call and keep the ``start`` of the whole.

    The first key (in order of occurrence) that is refused decides, and the rows of its witness
    become rows of the whole. Otherwise all that is unknown is listed key by key.

    A long search for one object must not hide a violation of another. So each object first gets
    `FIRST_SHARE_S`, those that are still undecided get ten times as much, and so on. The decision
    of an object that did not use up its share is final.

    Args:
        table: the whole history.
        decide_part: the operations on one object, and a budget -> decision.
        budget: for all objects together.
    """
    keys = table.fields.get("key")
    if keys is None or not len(table) or bool((keys.numbers == keys.numbers[0]).all()):
        return decide_part(table, budget)
    groups = _rows_by_key(keys)
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
    return _together(keys, groups, [decisions[number] for number in range(len(groups))])


def _rows_by_key(keys: Values) -> list[Ints]:
    """The rows of each key, in order of its first one."""
    order = np.argsort(keys.numbers, kind="stable")
    grouped = keys.numbers[order]
    groups = np.split(order, np.flatnonzero(grouped[1:] != grouped[:-1]) + 1)
    return sorted(groups, key=lambda rows: int(rows[0]))


def _together(keys: Values, groups: Sequence[Ints], decisions: Sequence[Decision]) -> Decision:
    """The decision of the whole, where that of no key is a refusal."""
    unknown = [
        f"key {keys[int(rows[0])]!r}: {each}"
        for rows, decision in zip(groups, decisions, strict=True)
        for each in decision.unknown
    ]
    whole = undecided(*unknown) if unknown else accepted()
    algorithms = dict.fromkeys(decision.algorithm for decision in decisions)
    whole.algorithm = ", ".join(name for name in algorithms if name)
    return whole


def _of_whole(decision: Decision, rows: Ints, name: str) -> Decision:
    """The refusal of a part, with its rows turned into rows of the whole."""
    if witness := decision.witness:
        witness.operations = [int(rows[row]) for row in witness.operations]
        witness.description = f"{name}: {witness.description}"
        if witness.prefix is not None:
            witness.prefix = [int(rows[row]) for row in witness.prefix]
        if witness.stuck is not None:
            witness.stuck = int(rows[witness.stuck])
    return decision
