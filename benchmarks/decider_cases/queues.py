"""Histories of queues, sets and counters for the deciders' benchmark."""

import numpy as np

from benchmarks.decider_cases.case import Case
from rumpus.checker.deciders.operation_table import INFO, NEVER, OperationTable
from rumpus.checker.deciders.typed_values import TRUE
from rumpus.checker.deciders.values import MISSING, Values

CLIENTS = 20
LOST = 0.001
"""Share of enqueues and additions (the first function) of unknown outcome."""


def table(
    functions: tuple[str, ...],
    f: np.ndarray,
    point: np.ndarray,
    argument: np.ndarray,
    result: Values,
    rng: np.random.Generator,
    fields: dict[str, Values] | None = None,
) -> OperationTable:
    """Operations around the points at which they took effect, about ``CLIENTS`` open at once.

    A call precedes its point, and a return follows, by at most half as many steps of 1 µs.
    """
    rows = len(f)
    reach = CLIENTS * 500
    call = point - rng.integers(0, reach, rows)
    returned = point + rng.integers(0, reach, rows)
    lost = (rng.random(rows) < LOST) & (f == 0)
    order = np.argsort(call, kind="stable")
    return OperationTable(
        functions=functions,
        f=f[order].astype(np.int16),
        outcome=np.where(lost, INFO, 0)[order].astype(np.int8),
        process=(np.arange(rows) % CLIENTS)[order],
        call=call[order],
        returned=np.where(lost, NEVER, returned)[order],
        argument=Values(argument[order]),
        result=result[order],
        fields={name: column[order] for name, column in (fields or {}).items()},
    )


def fifo(rows: int) -> OperationTable:
    """A queue with about ten elements inside, found empty now and then."""
    rng = np.random.default_rng(rows)
    puts = rows * 49 // 100
    gap = np.where(np.arange(puts) % 100 == 0, 60_000, 2_000)
    put = np.cumsum(gap)
    take = np.maximum.accumulate(put + rng.integers(1, 20_000, puts))
    value = np.arange(puts)
    empties = rows - 2 * puts
    # Long after an element has come out the next one is put in.
    empty = put[np.arange(empties) % max(1, puts // 100) * 100] - 2_000
    nothing = np.full(puts, MISSING)
    f = np.repeat([0, 1, 1], (puts, puts, empties))
    return table(
        ("enqueue", "dequeue"),
        f,
        np.concatenate((put, take, empty)),
        np.concatenate((value, nothing, np.full(empties, MISSING))),
        Values(np.concatenate((nothing, value, np.full(empties, MISSING)))),
        rng,
    )


def priorities(rows: int) -> OperationTable:
    """A queue of about ten elements with values for priorities."""
    rng = np.random.default_rng(rows)
    half = rows // 2
    # In rounds of ten everything is put in, and then comes out by urgency.
    rounds = np.arange(half) // 10
    puts = rounds * 40_000 + np.arange(half) % 10 * 1_000
    value = rng.permutation(half)
    takes = puts.copy()
    takes[np.lexsort((value, rounds))] = puts + 20_000
    f = np.repeat([0, 1], half)
    nothing = np.full(half, MISSING)
    return table(
        ("enqueue", "dequeue"),
        f,
        np.concatenate((puts, takes)),
        np.concatenate((value, nothing)),
        Values(np.concatenate((nothing, value))),
        rng,
    )


def counter(rows: int) -> OperationTable:
    """Increments by one, and as many reads among them."""
    rng = np.random.default_rng(rows)
    f = rng.integers(0, 2, rows)
    total = np.where(f == 1, np.cumsum(f == 0), MISSING)
    point = np.arange(rows) * 1_000
    return table(("add", "read"), f, point, np.where(f == 0, 1, MISSING), Values(total), rng)


def growing_set(rows: int) -> OperationTable:
    """Additions, each asked for once later on."""
    rng = np.random.default_rng(rows)
    half = rows // 2
    value = np.arange(half)
    added = value * 2_000
    return table(
        ("add", "contains"),
        np.repeat([0, 1], half),
        np.concatenate((added, added + 60_000)),
        np.concatenate((value, value)),
        Values(np.repeat([MISSING, 0], half), [TRUE]),
        rng,
    )


CASES = {
    "fifo-queue": Case("fifo-queue", fifo, target=0.5, largest=10**7),
    "queue": Case("queue", fifo),
    "priority-queue": Case("priority-queue", priorities),
    "set": Case("set", growing_set),
    "counter": Case("counter", counter, target=0.5, largest=10**7),
}
