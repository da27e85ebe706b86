"""A gate: a barrier that one client creates, and at which clients wait until it is removed.

``create`` creates it (or finds it there), ``remove`` removes it, ``wait`` returns when it is not
there. It is the barrier of ZooKeeper's recipes and of kazoo's ``Barrier``: a znode that exists or
not. **Decided**: whether there is a linearization in which every ``wait`` comes while the gate is
not there, every ``remove`` that answers true while it is there, and every ``remove`` that answers
false while it is not. A client that tries again after a lost answer, and then finds no gate, does
not know whether it removed it: it should answer nothing. A ``wait`` that timed out is ignored.

**Algorithm.** If no ``create`` or ``remove`` overlaps another their order is known. The gate was
certainly there from the return of a ``create`` to the call of the next ``remove``, and all these
spans can be this short at once. A ``wait`` is wrong if and only if it lies within such a span.
**Cost**: O(n log n), by binary search. Otherwise the general search decides, over two states.
"""

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key, searched
from rumpus.checker.deciders.decision import Budget, Decision, accepted, refused
from rumpus.checker.deciders.minimal_rows import MOST
from rumpus.checker.deciders.operation_table import FAIL, INFO, NEVER, OK, OperationTable
from rumpus.checker.deciders.typed_values import FALSE, TRUE, Truth
from rumpus.checker.deciders.values import Ints, Values, WrongOperations
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.model import ILLEGAL, UNKNOWN, Model

_SPANS = Algorithm(
    name="spans of the gate",
    when="no create or remove overlaps another, and none is of unknown outcome",
    cost="O(n log n)",
    source="reads within a forced span of a register (Gibbons and Korach, SIAM J. Comput. 1997)",
)


class Gate(Model):
    """Whether the gate is there. A ``wait`` that answers False timed out."""

    name = "gate"
    functions = frozenset({"create", "remove", "wait"})
    initial: Hashable = False
    observers = frozenset({"wait"})
    blind = frozenset({"create"})

    def step(self, state: Hashable, f: str, argument: Hashable, result: Hashable) -> Hashable:  # noqa: ARG002 - the model's signature
        """Whether it is there afterwards."""
        if f == "create":
            return True
        if f == "remove":
            return ILLEGAL if result is (FALSE if state else TRUE) else False
        return ILLEGAL if state and result not in (FALSE, UNKNOWN) else state

    def describe_state(self, state: Hashable) -> str:
        """Whether it is there."""
        return "there" if state else "not there"


def decide_gate(table: OperationTable, *, there: bool, budget: Budget) -> Decision:
    """Whether no ``wait`` returned while the gate was there.

    Args:
        table: the operations of one gate.
        there: whether it is there at first.
        budget: for the search.
    """
    writes = np.flatnonzero(~table.is_f("wait") & (table.outcome != FAIL))
    overlap = table.returned[writes[:-1]] >= table.call[writes[1:]]
    if overlap.any() or (table.outcome[writes] == INFO).any():
        return check_linearizable(Gate(there), table, budget)
    rows, words = _within_spans(table, writes, there=there)
    decision = refused(rows, words, minimal=False) if rows else accepted()
    if rows and len(table) <= MOST:
        # The search knows which other operations may have removed it.
        found = check_linearizable(Gate(there), table, budget)
        if found.witness is not None:
            decision = found
            found.witness.description = words
    decision.algorithm = _SPANS.name
    return decision


def _within_spans(table: OperationTable, writes: Ints, *, there: bool) -> tuple[list[int], str]:
    """A contradiction to the spans in which the gate was certainly there; empty if none.

    Args:
        table: the operations.
        writes: rows that create or remove, none of which overlaps another.
        there: whether the gate is there at first.
    """
    creates = table.is_f("create")[writes]
    before = np.concatenate(([there], creates))
    removed_it = _answers(table.result, writes, TRUE) & ~before[:-1]
    none_there = _answers(table.result, writes, FALSE) & before[:-1]
    wrong = np.flatnonzero(~creates & (removed_it | none_there))
    if len(wrong):
        row = int(writes[wrong[0]])
        says = "it removed the gate" if removed_it[wrong[0]] else "there was no gate to remove"
        return [int(writes[at]) for at in range(max(wrong[0] - 1, 0), wrong[0] + 1)], (
            f"{who(table, row)} says at {at(table, int(table.returned[row]))} that {says}, and "
            f"{_last(table, writes, int(wrong[0]))}"
        )
    waits = np.flatnonzero(table.is_f("wait") & (table.outcome == OK))
    waits = waits[~_answers(table.result, waits, FALSE)]
    done = np.searchsorted(table.returned[writes], table.call[waits])
    calls = np.where(creates, NEVER, table.call[writes])
    removed = np.concatenate((np.minimum.accumulate(calls[::-1])[::-1], [NEVER]))[done]
    early = np.flatnonzero(before[done] & (removed > table.returned[waits]))
    if not len(early):
        return [], ""
    place = early[np.argmin(table.returned[waits[early]])]
    row, number, end = int(waits[place]), int(done[place]), int(removed[place])
    began, passed = int(table.call[row]), int(table.returned[row])
    after = np.flatnonzero(table.call[writes] == end)[:1]
    rows = [row, *(int(writes[number - 1]) for _ in range(number > 0))]
    then = "nobody removed it afterwards"
    if len(after):
        rows.append(int(writes[after[0]]))
        then = f"{who(table, rows[-1])} called remove at {at(table, end, passed)} only"
    return rows, (
        f"{who(table, row)} passed between {at(table, began, passed)} and "
        f"{at(table, passed, began, end)}, when the gate was there: "
        f"{_last(table, writes, number)}; {then}"
    )


def _last(table: OperationTable, writes: Ints, number: int) -> str:
    """The last of the first ``number`` writes, in words."""
    if not number:
        return "nobody had created or removed it before"
    row = int(writes[number - 1])
    return (
        f"{table.function(row)} of {who(table, row)} had returned at "
        f"{at(table, int(table.returned[row]))}"
    )


def _answers(values: Values, rows: Ints, answer: Truth) -> NDArray[np.bool_]:
    """Mask of the rows that answered true (or false)."""
    if values.objects is None:
        return np.zeros(len(rows), dtype=np.bool_)
    places = [number for number, value in enumerate(values.objects) if value is answer]
    found: NDArray[np.bool_] = np.isin(values.numbers[rows], places)
    return found


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    if initial not in (None, TRUE, FALSE):
        raise WrongOperations(
            "gate takes as initial value whether it is there at first, true or false, and "
            f"{initial!r} is neither"
        )
    return decide_gate(table, there=bool(initial), budget=budget)


GATE = ModelEntry(
    name="gate",
    summary="nobody passes while the gate is there (a barrier that one client sets up)",
    runs="`barrier`",
    functions={
        "create": "() -> anything: the gate is there",
        "remove": "() -> true if it removed it, false if there was none; it is not there",
        "wait": "() -> anything once it is not there; false if time ran out",
    },
    initial="whether the gate is there at first; false if not given",
    algorithms=(_SPANS, searched("otherwise")),
    decide=decided_key_by_key(_decide),
)
