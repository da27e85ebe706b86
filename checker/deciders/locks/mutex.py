"""A mutex: one process holds it at a time, and only the holder can release it.

**Decided** as a lock of capacity one (`checker.deciders.locks.weighted_holds`: the algorithm and
why it is right), with tries to acquire that were refused (`checker.deciders.locks.refused_tries`).

**Cost**: O(n log n) by sorting, O(n) where times come in order. A search only where that does not
decide.
"""

from rumpus.checker.deciders.decide import NO_PART
from rumpus.checker.deciders.decision import Budget, Decision, undecided
from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import IGNORED, extract_holds, granted
from rumpus.checker.deciders.locks.lock_search import settle_by_search
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.refused_tries import decide_refused_tries
from rumpus.checker.deciders.locks.weighted_holds import decide_holds, lock_model
from rumpus.checker.deciders.operation_table import OperationTable

LOCK = Lock(capacity=1, nesting=Nesting.NONE)

FUNCTIONS = {
    "acquire": "ok: an object of session, token, node, or nothing",
    "release": "by the holder",
    "lock": "as acquire",
    "unlock": "as release",
    "campaign": "as acquire",
    "resign": "as release",
    "try_acquire": "ok: got it; refused, or ok with false: it was held",
    **dict.fromkeys(IGNORED, NO_PART),
}


def decide_mutex(table: OperationTable, budget: Budget) -> Decision:
    """Whether the operations of one mutex follow the model.

    Args:
        table: the operations.
        budget: of the search where the holds do not decide it.

    Raises:
        WrongOperations: a process calls something while its last operation is still open.
    """
    lock_rows = granted(table)
    holds = extract_holds(table, lock_rows)
    decision = decide_holds(table, LOCK, lock_rows, holds)
    if decision.valid is False:
        return decision
    refusals = decide_refused_tries(table, lock_rows, holds)
    if refusals is not None and refusals.witness is not None:
        # If the holds are undecided, they may contradict each other without the try.
        refusals.witness.minimal &= decision.valid is True
        return refusals
    if refusals is not None:
        decision = undecided(*decision.unknown, *refusals.unknown)
    return settle_by_search(table, LOCK, lock_rows, decision, budget)


MUTEX = lock_model(
    name="mutex",
    summary="a lock that one process holds at a time",
    runs="locks without tokens, and each part of `partitioner`",
    functions=FUNCTIONS,
    decide_lock=lambda table, _, budget: decide_mutex(table, budget),
)
