"""Zones: the order of values by the times of the operations on them.

A *cluster* is the write of a value with the reads of it. **Decided**: whether there is a
linearization in which the operations of each cluster are contiguous.

A cluster's zone lies between the first return of its operations, f, and the last call of its
operations, s. Cluster A must precede B if an operation of A returned before an operation of B was
called, that is, if f(A) < s(B).

**Why pairs are enough.** Consider the graph with an edge from each cluster to those that it must
precede. If there is a cycle, take a shortest one, and in it the cluster A with the least f. Its
predecessor B has an edge from its own predecessor C, so f(A) <= f(C) < s(B): A must also precede
B, and the two alone are a cycle. So an order exists if and only if no two clusters have f(A) < s(B)
and f(B) < s(A). A zone with f < s is *forward*: from f to s the register had that value. Two
forward zones contradict each other if they overlap, a forward and a backward zone if the backward
one lies inside the forward one, and two backward zones never do.

**Cost**: O(n log n) for sorting the forward zones by f.

Source: Gibbons and Korach, Testing shared memories, SIAM J. Comput. 26(4), 1997, section 4.
"""

import numpy as np

from rumpus.checker.deciders.values import Ints


def contradicting_clusters(first_return: Ints, last_call: Ints) -> tuple[int, int] | None:
    """Two clusters each of which must precede the other; None if there are no such two.

    Args:
        first_return: f of each cluster.
        last_call: s of each cluster.
    """
    forward = np.flatnonzero(first_return < last_call)
    if not len(forward):
        return None
    starts = first_return[forward]
    if bool((starts[1:] < starts[:-1]).any()):
        order = np.argsort(starts)
        forward, starts = forward[order], starts[order]
    ends = last_call[forward]
    latest = np.maximum.accumulate(ends)
    overlapping = np.flatnonzero(latest[:-1] > starts[1:])
    if len(overlapping):
        place = int(overlapping[0])
        return int(forward[int(np.argmax(ends[: place + 1]))]), int(forward[place + 1])
    # Forward zones are disjoint: of those that begin before a backward one the last ends last.
    backward = np.flatnonzero(first_return >= last_call)
    around = np.searchsorted(starts, last_call[backward], side="left") - 1
    inside = (around >= 0) & (ends[around] > first_return[backward])
    if not inside.any():
        return None
    place = int(np.argmax(inside))
    return int(forward[around[place]]), int(backward[place])
