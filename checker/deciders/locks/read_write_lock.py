"""A read-write lock: many readers hold it at once, or one writer.

**Decided** as a lock whose capacity is all its holds, of which a writer takes all and a reader
one (`checker.deciders.locks.weighted_holds`: the algorithm and why it is right): so a writer
excludes everybody, and readers exclude writers only. No process can turn what it holds from the one
into the other: that is a violation like any other.

**Cost**: O(n log n) by sorting. A search only where
that leaves the answer open.
"""

import numpy as np

from rumpus.checker.deciders.decide import NO_PART, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, IGNORED, RELEASES, granted
from rumpus.checker.deciders.locks.lock_search import LOCK_SEARCH
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.weighted_holds import (
    OVERLAP,
    decide_exclusion,
    decided_lock_by_lock,
)
from rumpus.checker.deciders.operation_table import Ints, OperationTable, WrongOperations

MODES = ("read", "write")
ACQUIRE_MODES = tuple(f"acquire_{mode}" for mode in MODES)
RELEASE_MODES = tuple(f"release_{mode}" for mode in MODES)


def decide_read_write_lock(table: OperationTable, budget: Budget) -> Decision:
    """Whether the operations of one read-write lock follow the model.

    Args:
        table: the operations.
        budget: of a search where the holds leave the answer open.

    Raises:
        WrongOperations: a process calls something while its last operation is still open, or
            an acquire does not say whether to read or to write.
    """
    acquires, releases, _ = granted(table, ACQUIRE_MODES, RELEASE_MODES)
    everybody = len(table) + 1
    mode = _modes(table)
    if (mode[acquires] < 0).any():
        row = int(np.flatnonzero(acquires & (mode < 0))[0])
        raise WrongOperations(
            f"{table.function(row)} (operation {int(table.index[row])}) does not say whether to "
            "read or to write"
        )
    lock = Lock(
        capacity=everybody,
        nesting=Nesting.WHOLE,
        weight=np.array([1, everybody, 0])[mode],
        share=lambda weight: "to read" if weight == 1 else "to write",
    )
    return decide_exclusion(table, lock, acquires, releases, budget)


def _modes(table: OperationTable) -> Ints:
    """Of each row the position in `MODES`; -1 where it says nothing."""
    named = [
        next((at for at, m in enumerate(MODES) if f.endswith(f"_{m}")), -1) for f in table.functions
    ]
    mode = np.array(named, dtype=np.int64)[table.f]
    values = table.argument
    if not values.present.any():
        return mode
    if values.objects is None:
        wrong = values[int(np.argmax(values.present))]
        raise WrongOperations(f"an argument must be read or write, and {wrong} is neither")
    said = np.full(len(values.objects) + 1, -1, dtype=np.int64)
    for at, value in enumerate(values.objects):
        if value in MODES:
            said[at] = MODES.index(value)
    numbers = np.where(values.present, values.numbers, len(values.objects))
    neither = values.present & (said[numbers] < 0) & ~table.is_f(*IGNORED)
    if neither.any():
        value = values[int(np.argmax(neither))]
        raise WrongOperations(f"an argument must be read or write, and {value!r} is neither")
    return np.where(mode < 0, said[numbers], mode)


READ_WRITE_LOCK = ModelEntry(
    name="read-write-lock",
    summary="a lock that many readers or one writer hold",
    runs="`read-write`",
    functions={
        **dict.fromkeys(ACQUIRES, '"read" or "write"'),
        **dict.fromkeys(RELEASES, '"read" or "write"; whatever the process holds without'),
        **dict.fromkeys(ACQUIRE_MODES, "as acquire"),
        **dict.fromkeys(RELEASE_MODES, "as release"),
        **dict.fromkeys(IGNORED, NO_PART),
    },
    algorithms=(OVERLAP, LOCK_SEARCH),
    decide=decided_lock_by_lock(decide_read_write_lock),
)
