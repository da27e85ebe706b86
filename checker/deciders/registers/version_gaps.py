"""Gaps: versions that no acknowledged write returned, and the unknown writes for them.

A write of unknown outcome that was called at c can have made version k if and only if c is at most
the *deadline* D(k), the earliest return of any operation of version k or a later one, and if it
wrote the value that was read at version k, if any was. D does not decrease with k.

**Algorithm.** A cas can only make the version after the one it expects, so it is used for that gap
at once. For each value, go through the gaps at which it was read, by ascending version, and use
for each the latest-called write of that value among those called by the deadline. A write that can
fill a gap can fill every later gap of the value, so every choice fills as many gaps as possible;
and this one leaves the earliest calls unused (in any other assignment, exchange the writes so that
the earlier gap has the later call: both are still in time). The unused writes go to the gaps at
which nothing was read, earliest call first: again only the number of calls by a deadline matters.

**Cost**: O(n log n) in the gaps and the unknown writes.

It is the scheduling of unit jobs with deadlines, whose feasible sets are a matroid (Lawler,
Combinatorial optimization: networks and matroids, 1976, chapter 7).
"""

from collections import defaultdict
from collections.abc import Sequence

from rumpus.checker.deciders.values import MISSING

ANY = -1
"""The value of a version at which nothing was read."""


def unfilled_gap(
    gaps: Sequence[int],
    values: Sequence[int],
    deadlines: Sequence[int],
    lost: Sequence[tuple[int, int, int]],
) -> int | None:
    """A gap that no write can fill, if there is one.

    Args:
        gaps: versions, ascending.
        values: what was read at each, a number from 0, or `ANY`.
        deadlines: of each; they do not decrease.
        lost: of each write of unknown outcome its call, its value and the version that it expects,
            `MISSING` for one that is not a cas.

    Returns:
        A place in ``gaps``.
    """
    compared: dict[int, list[tuple[int, int]]] = defaultdict(list)
    calls: dict[int, list[int]] = defaultdict(list)
    for call, value, expected in sorted(lost):
        if expected == MISSING:
            calls[value].append(call)
        else:
            compared[expected + 1].append((call, value))
    used: dict[int, int] = defaultdict(int)
    in_time: dict[int, list[int]] = defaultdict(list)
    unread: list[int] = []
    for place, (gap, value, deadline) in enumerate(zip(gaps, values, deadlines, strict=True)):
        if any(call <= deadline and value in (ANY, wrote) for call, wrote in compared[gap]):
            continue
        if value == ANY:
            unread.append(place)
            continue
        own, stack = calls[value], in_time[value]
        while used[value] < len(own) and own[used[value]] <= deadline:
            stack.append(own[used[value]])
            used[value] += 1
        if not stack:
            return place
        stack.pop()
    left = sorted(
        call for value, own in calls.items() for call in (*in_time[value], *own[used[value] :])
    )
    for call, place in zip(left, unread, strict=False):
        if call > deadlines[place]:
            return place
    return unread[len(left)] if len(left) < len(unread) else None
