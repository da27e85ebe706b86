"""Whether writes are linearizable in the order of their zxids.

**Decided**: whether there is a point in time for each transaction, in the order of zxids, after
the call of its write and before the return of every operation that has seen it. Also, two
acknowledged writes never have the same zxid.

**Algorithm.** The earliest possible point of a transaction is the latest call of a write with its
zxid or a lower one. These points are valid if and only if no write was called after the return of
an operation that had seen its zxid or a higher one. That takes one pass over the zxids from the
highest to the lowest, with the earliest return so far. It is the decision procedure for
registers with unique writes whose order is known (Gibbons and Korach, Testing shared memories,
SIAM J. Comput. 1997).

**Cost**: O(n log n) for sorting.
"""

from bisect import bisect_left

import numpy as np

from rumpus.checker.deciders.decision import Decision, refused
from rumpus.checker.deciders.operation_table import NEVER
from rumpus.checker.deciders.wording import at, who
from rumpus.checker.znodes.znode_operations import NOTHING, Sight, ZnodeOperations


class SeenBy:
    """For each zxid, the earliest return of an operation that had seen it or a higher one.

    Args:
        operations: an acknowledged write has seen its own zxid, a read the zxid that it returned,
            and who got an event its zxid.
    """

    def __init__(self, operations: ZnodeOperations) -> None:
        sights = [sight for sight in operations.reads if sight.zxid != NOTHING]
        sights += operations.writes
        sights += operations.announced
        zxids = np.array([sight.zxid for sight in sights], dtype=np.int64)
        order = np.argsort(zxids, kind="stable")
        self._zxids: list[int] = zxids[order].tolist()
        self._sights = [sights[place] for place in order.tolist()]
        self._earliest: list[int] = []
        earliest = -1
        returned = operations.returned
        for place in range(len(sights) - 1, -1, -1):
            row = self._sights[place].row
            if earliest < 0 or returned[row] < returned[self._sights[earliest].row]:
                earliest = place
            self._earliest.append(earliest)
        self._earliest.reverse()

    def first(self, zxid: int) -> Sight | None:
        """The first to return of the sights of this zxid or a higher one; None if there is none."""
        place = bisect_left(self._zxids, zxid)
        return self._sights[self._earliest[place]] if place < len(self._sights) else None


def check_zxid_order(operations: ZnodeOperations) -> Decision | None:
    """A refusal if the order of zxids contradicts real time; None if it does not."""
    table = operations.table
    by_zxid: dict[int, Sight] = {}
    for write in operations.writes:
        other = by_zxid.setdefault(write.zxid, write)
        if other is not write:
            return refused(
                [other.row, write.row],
                f"{who(table, other.row)}'s and {who(table, write.row)}'s writes were both "
                f"transaction {write.zxid}",
            )
    seen_by = SeenBy(operations)
    for write in operations.writes:
        first = seen_by.first(write.zxid)
        assert first is not None
        call, returned = operations.call[write.row], operations.returned[first.row]
        if call <= returned or first.row == write.row:
            continue
        higher = "" if first.zxid == write.zxid else f"the higher zxid {first.zxid} "
        did = {"read": "seen", "write": "been given", "event": "got the event of"}[first.kind]
        return refused(
            [write.row, first.row],
            f"{who(table, write.row)}'s write, called at {at(table, call, returned)}, was "
            f"transaction {write.zxid}, but {who(table, first.row)} had "
            f"{'already ' if not higher else ''}{did} {higher or 'it '}by "
            f"{at(table, returned, call)}",
        )
    return None


def latest_time(operations: ZnodeOperations, first: Sight | None) -> int:
    """The time by which a transaction had happened, given who saw it first."""
    return NEVER if first is None else operations.returned[first.row]
