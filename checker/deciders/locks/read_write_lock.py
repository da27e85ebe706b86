"""A read-write lock: many readers hold it at once, or one writer.

**Decided** as a lock of which a writer takes the whole capacity and a reader one unit
(`checker.deciders.locks.weighted_holds`: the algorithm and why it is right): so a writer excludes
all others, and readers exclude writers only. A process cannot upgrade or downgrade what it holds:
that is a violation like any other.

**Cost**: O(n log n) by sorting. A search only where that does not decide.
"""

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, IGNORED, RELEASES, granted
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.weighted_holds import decide_exclusion, lock_model
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import Ints, WrongOperations

MODES = ("read", "write")
ACQUIRE_MODES = tuple(f"acquire_{mode}" for mode in MODES)
RELEASE_MODES = tuple(f"release_{mode}" for mode in MODES)


def decide_read_write_lock(table: OperationTable, budget: Budget) -> Decision:
    """Whether the operations of one read-write lock follow the model.

    Args:
        table: the operations.
        budget: of the search where the holds do not decide it.

    Raises:
        WrongOperations: a process calls something while its last operation is still open, or
            an acquire does not say whether to read or to write.
    """
    lock_rows = granted(table, ACQUIRE_MODES, RELEASE_MODES)
    everybody = len(table) + 1
    mode = _modes(table)
    unsaid = lock_rows.acquires & (mode < 0)
    if unsaid.any():
        row = int(np.argmax(unsaid))
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
    return decide_exclusion(table, lock, lock_rows, budget)


def _modes(table: OperationTable) -> Ints:
    """The position of each row's mode in `MODES`; -1 if it names none."""
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


READ_WRITE_LOCK = lock_model(
    name="read-write-lock",
    summary="a lock that many readers or one writer hold",
    runs="`read-write`",
    functions={
        **dict.fromkeys(ACQUIRES, '"read" or "write"'),
        **dict.fromkeys(RELEASES, '"read" or "write"; whatever the process holds without'),
        **dict.fromkeys(ACQUIRE_MODES, "as acquire"),
        **dict.fromkeys(RELEASE_MODES, "as release"),
    },
    decide_lock=lambda table, _, budget: decide_read_write_lock(table, budget),
)
