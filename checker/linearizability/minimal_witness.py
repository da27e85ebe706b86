"""The few operations that contradict each other, found by forgetting all others.

To forget an operation is to take it for one that may have happened at any time, or never
(`checker.decision.Witness`). That only adds possible orders: what is acceptable stays so when
more is forgotten. Hence one pass is enough (deletion-based, as for minimal unsatisfiable cores:
Marques-Silva, Minimal unsatisfiability: models, algorithms and applications, ISMVL 2010): forget
one operation after the other, and keep those without which the rest would be acceptable; such a
one stays necessary when more is forgotten later. Runs of operations are tried at once, twice as
many after each success and half as many after each failure, which costs a number of searches in
the size of the witness, with the logarithm of the history as a factor.

Observers are forgotten first: they cost nothing forgotten, for they are left out, whereas a
forgotten write may be used anywhere and makes the search harder; with few observers left it does
so no more.
"""

from collections.abc import Callable
from typing import Any

from checker.linearizability.windowed_search import InTurns

SLICE = 10_000


def minimal_positions(
    operations: Any,
    search: Callable[..., Any],
    stuck: int,
    until: Callable[[], bool],
) -> tuple[list[int], bool]:
    """Operations that contradict each other.

    Args:
        operations: of a part of a history that is not linearizable, as a search takes them.
        search: makes a search over operations, some of them forgotten.
        stuck: the operation at which the search ended: those far from it are forgotten first.
        until: whether the time is up.

    Returns:
        Positions in ``operations``, in order; and whether it is known that none of them can be
        forgotten.
    """
    forgotten = bytearray(len(operations))
    observing = operations.observing
    order = sorted(range(len(operations)), key=lambda k: (not observing[k], -abs(k - stuck)))
    kept: list[int] = []
    at = 0
    run = max(1, len(order) // 2)
    while at < len(order):
        tried = order[at : at + run]
        for k in tried:
            forgotten[k] = 1
        answer = None
        attempt = InTurns(search, operations, forgotten)
        while answer is None and not until():
            answer = attempt.run(SLICE)
        if answer is False:
            at += len(tried)
            run *= 2
            continue
        for k in tried:
            forgotten[k] = 0
        if answer is None:
            return sorted([*kept, *order[at:]]), False
        if len(tried) == 1:
            kept += tried
            at += 1
        run = max(1, len(tried) // 2)
    return sorted(kept), True
