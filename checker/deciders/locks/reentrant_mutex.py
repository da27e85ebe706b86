"""A re-entrant mutex: its holder may acquire it again, and must release it as often.

**Decided** as a mutex over outermost holds (`checker.deciders.locks.weighted_holds`: the algorithm
and why it is right): an acquire of a process within a hold of its own is always granted, and only
determines which release ends the hold.

**Cost**: O(n log n) by sorting. A search only where that does not decide.
"""

from rumpus.checker.deciders.locks.exclusion_witness import Lock
from rumpus.checker.deciders.locks.holds_table import ACQUIRES, RELEASES, granted
from rumpus.checker.deciders.locks.process_walk import Nesting
from rumpus.checker.deciders.locks.weighted_holds import decide_exclusion, lock_model

LOCK = Lock(capacity=1, nesting=Nesting.OUTERMOST)


REENTRANT_MUTEX = lock_model(
    name="reentrant-mutex",
    summary="a lock that its holder may acquire again",
    runs="none: a grant within a grant names the same node, and is part of one hold of a mutex",
    functions={
        **dict.fromkeys(ACQUIRES, "ok: an object of session, token, node, or nothing"),
        **dict.fromkeys(RELEASES, "by the holder, as often as it acquired"),
    },
    decide_lock=lambda table, _, budget: decide_exclusion(table, LOCK, granted(table), budget),
)
