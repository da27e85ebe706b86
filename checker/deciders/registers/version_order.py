"""Operations whose order is known: whether time allows it.

Let each operation have a rank, and let those of lower rank come first. An order in time exists if
and only if no operation was called after one of higher rank had returned: then each can take
effect at the latest call up to its rank, which is neither before its own call nor after its own
return. Operations of equal rank bind each other not at all. So the running maximum of the calls,
in order of rank, must not exceed a return (as in Gibbons and Korach, Testing shared memories, SIAM
J. Comput. 1997, where the order of the writes is given).

**Cost**: O(n), for ranks that are numbers of places in an array.
"""

import numpy as np

from rumpus.checker.deciders.operation_table import MISSING, Ints


def latest_calls_below(rank: Ints, call: Ints, ranks: int) -> Ints:
    """The latest call of any operation of lower rank, a rank; `MISSING` if there is none."""
    latest = np.full(ranks + 1, MISSING)
    np.maximum.at(latest, rank + 1, call)
    below: Ints = np.maximum.accumulate(latest)[:-1]
    return below


def out_of_order(rank: Ints, call: Ints, returned: Ints) -> tuple[int, int] | None:
    """Two operations that time forbids; None if there are none.

    Args:
        rank: from 0, an operation.
        call: when it was called.
        returned: when it returned.

    Returns:
        The place of the one that must come first but was called too late, and of the one that
        must come later but returned before that: of those, the first to return.
    """
    if not len(rank):
        return None
    late = np.flatnonzero(latest_calls_below(rank, call, int(rank.max()) + 1)[rank] > returned)
    if not len(late):
        return None
    second = int(late[np.argmin(returned[late])])
    lower = np.flatnonzero((rank < rank[second]) & (call > returned[second]))
    return int(lower[np.argmin(call[lower])]), second
