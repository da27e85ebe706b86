"""A semaphore: a number of permits that can be held at once.

**Decided** as a lock of that capacity (`checker.deciders.locks.weighted_holds`: the algorithm and
why it is right). A process may hold several permits, and releases those that it acquired last.

**Cost**: O(n log n) by sorting. A search only where that does not decide.
"""

from collections.abc import Hashable

import numpy as np

from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, RELEASES, granted
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.weighted_holds import decide_exclusion, lock_model
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.values import Ints, WrongOperations

MOST = 2**31 - 1
"""The most permits that a semaphore can have."""


def decide_semaphore(table: OperationTable, permits: int, budget: Budget) -> Decision:
    """Whether the operations of one semaphore follow the model.

    Args:
        table: the operations.
        permits: how many there are.
        budget: of the search where the holds do not decide it.

    Raises:
        WrongOperations: a process calls something while its last operation is still open, or
            a number of permits is not a positive integer.
    """
    lock = Lock(
        capacity=permits,
        nesting=Nesting.COUNTED,
        weight=_weights(table),
        share=lambda weight: f"{weight} permit{'s' if weight > 1 else ''}",
        crowd=lambda held: f"{held} permits were held of {permits}",
    )
    return decide_exclusion(table, lock, granted(table), budget)


def _weights(table: OperationTable) -> Ints | None:
    """How many permits each row acquires or releases; None if all of them do one."""
    weight = None
    for name, values in (("argument", table.argument), ("permits", table.field("permits"))):
        if not values.present.any():
            continue
        numbers = values.ints(f"a number of permits ({name})")
        if (numbers[values.present] < 1).any():
            wrong = int(numbers[values.present].min())
            raise WrongOperations(f"a number of permits must be positive, and {wrong} is not")
        # Larger numbers exceed every capacity anyway, and sums must not overflow.
        numbers = np.minimum(numbers, MOST + 1)
        weight = np.where(values.present, numbers, 1 if weight is None else weight)
    return weight


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    if type(initial) is not int or not 0 < initial <= MOST:
        raise WrongOperations(
            "a semaphore needs its number of permits as the initial value, a positive integer "
            f"up to {MOST}, and {initial!r} is none"
        )
    return decide_semaphore(table, initial, budget)


SEMAPHORE = lock_model(
    name="semaphore",
    summary="a number of permits that can be held at once",
    runs="`semaphore`",
    functions={
        **dict.fromkeys(ACQUIRES, "number of permits, as argument or field permits; else 1"),
        **dict.fromkeys(RELEASES, "number of permits, as above, of those that the process holds"),
    },
    decide_lock=_decide,
    initial="the number of permits",
)
