"""A search of large states keeps within its memory, also where it explains a refusal."""

import tracemalloc

import pytest

from rumpus.checker.deciders.decision import Budget
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.linearizability.explanation import LONGEST_STATE, MOST_STATES
from rumpus.checker.linearizability.search import C, check_linearizable
from rumpus.checker.models.fifo_queue import FifoQueue
from rumpus.checker.models.set import Set

MIB = 1 << 20
PAUSES = 32 * MIB
"""What may come on top of the budget: the states between two looks at it, and all tables."""

BACKENDS = ["python", pytest.param("c", marks=pytest.mark.skipif(C is None, reason="not built"))]


def histories(first, last, *, then=1):
    """Elements one after the other, then some operations all at once, then the last one."""
    rows = [
        {"process": 0, "f": f, "argument": argument, "call": 2 * at, "returned": 2 * at + 1}
        for at, (f, argument) in enumerate(first)
    ]
    now = 2 * len(rows)
    for at, row in enumerate(last):
        rows.append({"process": 1 + at, "call": now, "returned": now + 1, **row})
    rows[-1] |= {"call": now + then, "returned": now + 1 + then}
    return OperationTable.from_rows(rows)


def peak(model, table, backend, size):
    tracemalloc.start()
    try:
        budget = Budget(5.0, size)
        decision = check_linearizable(model, table, budget, backend=backend)
        return decision, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("backend", BACKENDS)
def test_sets_count_with_all_that_is_in_them(backend):
    adds = [("add", n) for n in range(2_000)]
    table = histories(adds, [{"f": "read", "result": ()}], then=3)
    decision, most = peak(Set(), table, backend, 16 * MIB)
    assert decision.valid == "unknown"
    assert "the memory budget of 17 MB is spent" in decision.unknown[0]
    assert most < 16 * MIB + PAUSES


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_explanation_keeps_within_what_is_left(backend):
    enqueues = [("enqueue", n) for n in range(800)]
    last = [{"f": "enqueue", "argument": 7} for _ in range(12)]
    last += [{"f": "dequeue", "result": None if n == 3 else n} for n in range(12)]
    decision, most = peak(FifoQueue(), histories(enqueues, last, then=0), backend, 8 * MIB)
    assert decision.valid is False
    assert not decision.witness.minimal
    assert most < 8 * MIB + PAUSES
    assert len(decision.witness.states) <= MOST_STATES + 1
    assert max(map(len, decision.witness.states)) < LONGEST_STATE + 100
