"""A re-entrant mutex: its holder may acquire it again, and must release it as often.

**Decided** as a mutex over outermost holds (`checker.deciders.locks.weighted_holds`: the algorithm
and why it is right): what a process acquires within a hold of its own is always granted, and so
only counts towards the release that ends the hold.

**Cost**: O(n log n) by sorting. A search only where
that leaves the answer open.
"""

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
from rumpus.checker.deciders.operation_table import OperationTable

LOCK = Lock(capacity=1, nesting=Nesting.OUTERMOST)


def decide_reentrant_mutex(table: OperationTable, budget: Budget) -> Decision:
    """Whether the operations of one re-entrant mutex follow the model.

    Args:
        table: the operations.
        budget: of a search where the holds leave the answer open.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
    acquires, releases, _ = granted(table)
    return decide_exclusion(table, LOCK, acquires, releases, budget)


REENTRANT_MUTEX = ModelEntry(
    name="reentrant-mutex",
    summary="a lock that its holder may acquire again",
    runs="none: a grant within a grant names the same node, and is part of one hold of a mutex",
    functions={
        **dict.fromkeys(ACQUIRES, "ok: an object of session, token, node, or nothing"),
        **dict.fromkeys(RELEASES, "by the holder, as often as it acquired"),
        **dict.fromkeys(IGNORED, NO_PART),
    },
    algorithms=(OVERLAP, LOCK_SEARCH),
    decide=decided_lock_by_lock(decide_reentrant_mutex),
)
