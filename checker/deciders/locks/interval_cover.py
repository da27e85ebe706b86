"""Which points of time intervals cover.

Intervals are open: what certainly began by ``start`` and certainly lasted until ``end`` does not
cover these two points, since operations at the same time are concurrent. Times are integers, so it
is enough to check integers: if a point between two integers is uncovered, so are both.
"""

import numpy as np
from numpy.typing import NDArray

from rumpus.checker.deciders.values import Ints


def covered(starts: Ints, ends: Ints, points: Ints) -> Ints:
    """How many intervals (``start < end``, in any order) cover each point."""
    count: Ints = np.searchsorted(np.sort(starts), points, side="left") - np.searchsorted(
        np.sort(ends), points, side="right"
    )
    return count


def any_within(points: Ints, chosen: NDArray[np.bool_], low: Ints, high: Ints) -> NDArray[np.bool_]:
    """Whether one of the chosen points (sorted) lies in each of the spans, ends included."""
    before = np.concatenate(([0], np.cumsum(chosen)))
    first, last = np.searchsorted(points, low), np.searchsorted(points, high, side="right")
    found: NDArray[np.bool_] = before[last] > before[first]
    return found


def chain(starts: Ints, ends: Ints, low: int, high: int) -> list[int] | None:
    """The fewest intervals that together cover all points of a span, ends included.

    The greedy choice is optimal: of the intervals that cover the first uncovered point, always the
    one that ends last. None if some point is not covered.
    """
    order = np.argsort(starts, kind="stable")
    begin, longest, chosen = 0, -1, []
    point = low
    while point <= high:
        stop = int(np.searchsorted(starts[order], point, side="left"))
        if stop > begin:
            best = int(order[begin + int(np.argmax(ends[order[begin:stop]]))])
            if longest < 0 or ends[best] > ends[longest]:
                longest = best
            begin = stop
        if longest < 0 or ends[longest] <= point:
            return None
        chosen.append(longest)
        point = int(ends[longest])
    return chosen
