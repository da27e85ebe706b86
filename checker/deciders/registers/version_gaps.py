"""Versions that no acknowledged write returned: whether unknown writes can have made them.

An unknown write that was called at c can be version k if and only if c is at most the *deadline*
D(k), the least return of anything that knows of version k or a later one, and if it wrote the
value that was read at version k, if any was. D does not fall with k.

**Algorithm.** A cas can only be the version after the one it expects; nothing else can use it, so
it fills that gap at once. For each value by itself, go through the gaps in which it was read, by
rising version, and give each the latest-called write of that value among those called by the
deadline. Who may fill a gap may fill every later one of the value, so any choice fills as many
gaps as can be filled; and this one leaves the earliest calls over (in any other assignment, hand
the later call to the earlier gap: both remain in time). What is left goes to the gaps in which
nothing was read, earliest call first: there, too, only the number of calls by a deadline matters.

**Cost**: O(n log n) in the gaps and the unknown writes.

It is the scheduling of unit jobs with deadlines, whose feasible sets are a matroid (Lawler,
Combinatorial optimization: networks and matroids, 1976, chapter 7).
"""

from collections import defaultdict
from collections.abc import Sequence

from rumpus.checker.deciders.operation_table import MISSING

ANY = -1
"""The value of a version at which nothing was read."""


def unfilled_gap(
    gaps: Sequence[int],
    values: Sequence[int],
    deadlines: Sequence[int],
    lost: Sequence[tuple[int, int, int]],
) -> int | None:
    """A gap that nothing can fill, if there is one.

    Args:
        gaps: versions, growing.
        values: what was read at each, a number from 0, or `ANY`.
        deadlines: of each; they do not fall.
        lost: of each unknown write its call, its value and the version that it expects, or
            `MISSING` if it takes any.

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
