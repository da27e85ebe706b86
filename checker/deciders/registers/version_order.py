"""Whether the times of operations allow an order that is known.

Each operation has a rank, and those of lower rank come first. Such a linearization exists if and
only if no operation was called after one of higher rank had returned: then each can take effect at
the latest call up to its rank, which is neither before its own call nor after its own return.
Operations of equal rank may have any order. So the running maximum of the calls, in order of rank,
must not exceed a return (as in Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997,
where the order of the writes is given).

**Cost**: O(n), for ranks that are numbers of places in an array.
"""

import numpy as np

from rumpus.checker.deciders.values import MISSING, Ints


def latest_calls_below(rank: Ints, call: Ints, ranks: int) -> Ints:
    """For each rank the latest call of an operation of lower rank; `MISSING` if there is none."""
    latest = np.full(ranks + 1, MISSING)
    np.maximum.at(latest, rank + 1, call)
    below: Ints = np.maximum.accumulate(latest)[:-1]
    return below


def out_of_order(rank: Ints, call: Ints, returned: Ints) -> tuple[int, int] | None:
    """Two operations whose times contradict their ranks; None if there are none.

    Args:
        rank: of each operation, from 0.
        call: of each.
        returned: of each.

    Returns:
        The position of the one of lower rank, which was called too late; and of the one of higher
        rank, which returned before that: of several, the first to return.
    """
    if not len(rank):
        return None
    late = np.flatnonzero(latest_calls_below(rank, call, int(rank.max()) + 1)[rank] > returned)
    if not len(late):
        return None
    second = int(late[np.argmin(returned[late])])
    lower = np.flatnonzero((rank < rank[second]) & (call > returned[second]))
    return int(lower[np.argmin(call[lower])]), second
