"""A cyclic barrier for N: no operation returns before N have been called; then the next N.

**Decided**: whether the operations can be divided into generations. A generation is N operations
for which there is a time at which all have been called and none has returned: then the barrier
opens. Every acknowledged operation belongs to exactly one generation. One of unknown outcome
belongs to one or to none, and never returns.

**Algorithm.** Of the operations without a generation take the one that returns first, at r. Its
barrier opens by r, and can open at r, as all others return later. Its generation gets the N - 1
operations called by r that return soonest. This is optimal by exchange: if a solution takes b
instead of a, where a returns no later than b and both were called by r, then a's own generation
opens between r and a's return, when b has been called and has not returned, so the two can be
exchanged (or a has no generation, then b needs none either). So if fewer than N were called by r
there is no solution. This is earliest deadline first (Jackson, Scheduling a production line to
minimize maximum tardiness, 1955). If the generations do not overlap they are the operations in
order of return, N at a time: that is tried first.

**Cost**: O(n log n): one sort if generations do not overlap, otherwise a heap.
"""

from collections.abc import Hashable
from heapq import heappop, heappush

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, accepted, refused
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import FAIL, NEVER, OperationTable
from rumpus.checker.deciders.values import Ints, WrongOperations
from rumpus.checker.deciders.wording import at, who

_ALGORITHM = Algorithm(
    name="generations by earliest return",
    when="always",
    cost="O(n log n)",
    source="Jackson, Scheduling a production line to minimize maximum tardiness, 1955",
)


def parties(initial: Hashable, model: str) -> int:
    """The number of parties of a barrier, from the initial value.

    Raises:
        WrongOperations: the initial value is not a positive integer.
    """
    if type(initial) is not int or initial < 1:
        raise WrongOperations(
            f"{model} needs the number of its parties as initial value, a positive integer, and "
            f"{initial!r} is none"
        )
    return initial


def decide_barrier(table: OperationTable, number: int) -> Decision:
    """Whether the operations form generations of ``number``."""
    rows = np.flatnonzero(table.outcome != FAIL)
    call, returned = table.call[rows], table.returned[rows]
    if _in_order_of_return(call, returned, number):
        return accepted()
    early = _early(call, returned, number)
    if early is None:
        return accepted()
    first, companions = early
    row = int(rows[first])
    end = int(returned[first])
    others = np.flatnonzero(call > end)
    after = f"the next called at {at(table, int(call[others[0]]), end)}" if len(others) else ""
    description = (
        f"{who(table, row)} passed by {at(table, end)}, when only {len(companions)} of "
        f"{number} had come since the barrier last opened; {after or 'nobody came after that'}"
    )
    if len(rows) > MOST:
        shown = [*companions, *others[:1].tolist()]
        return refused([int(rows[place]) for place in shown], description, minimal=False)

    def refuses(kept: list[int]) -> bool:
        known = np.zeros(len(rows), dtype=np.bool_)
        known[kept] = True
        start = np.where(known, call, call.min())
        order = np.argsort(start, kind="stable")
        end = np.where(known, returned, NEVER)
        return _early(start[order], end[order], number) is not None

    needed, _ = minimise(range(len(rows))[::-1], refuses)
    return refused([int(rows[place]) for place in needed], description)


def _in_order_of_return(call: Ints, returned: Ints, number: int) -> bool:
    """Whether the acknowledged operations in order of return, N at a time, are generations."""
    known = returned != NEVER
    call, returned = call[known], returned[known]
    if not len(call):
        return True
    if len(call) % number:
        return False
    order = np.argsort(returned)
    opened = returned[order[::number]]
    latest: Ints = call[order].reshape(-1, number).max(axis=1)
    return bool((latest <= opened).all())


def _early(call: Ints, returned: Ints, number: int) -> tuple[int, list[int]] | None:
    """The first operation that returned too early, and those called by then, itself included.

    Args:
        call: ascending.
        returned: `NEVER` for operations that need not belong to a generation.
        number: the size of a generation.
    """
    calls, ends = call.tolist(), returned.tolist()
    order = np.argsort(returned, kind="stable")
    taken = bytearray(len(calls))
    waiting: list[tuple[int, int]] = []
    following = 0
    for first in order.tolist():
        if taken[first]:
            continue
        end = ends[first]
        if end == NEVER:
            break
        while following < len(calls) and calls[following] <= end:
            heappush(waiting, (ends[following], following))
            following += 1
        if len(waiting) < number:
            return first, sorted(place for _, place in waiting)
        for _ in range(number):
            taken[heappop(waiting)[1]] = 1
    return None


BARRIER = ModelEntry(
    name="barrier",
    summary="nobody passes before N have come; then the next N (a cyclic barrier)",
    runs="none: those who wait for N also leave together, and `double-barrier` says more",
    functions=dict.fromkeys(("enter", "await", "wait"), "() -> anything, once N have come"),
    initial="N, how many must come",
    algorithms=(_ALGORITHM,),
    decide=decided_key_by_key(
        lambda part, initial, _: decide_barrier(part, parties(initial, "barrier")), _ALGORITHM
    ),
)
