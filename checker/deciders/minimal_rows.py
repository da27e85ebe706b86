"""The minimiser of all witnesses: reduces rows that contradict each other to those needed.

If a history is acceptable, so is the same history with an operation forgotten
(`checker.deciders.decision.Witness`). So one pass is enough: forget one row after the other, and
keep those without which the rest would be acceptable. A row that is needed remains needed when
more rows are forgotten later. (This is the deletion-based algorithm for minimal unsatisfiable
cores: Marques-Silva, Minimal unsatisfiability: models, algorithms and applications, ISMVL 2010.)
Several rows are forgotten at once, twice as many after each success and half as many after each
failure. So the number of tests is proportional to the size of the witness, times the logarithm of
the size of the history.

A decider passes rows that probably contradict each other, and tests whether a part of them still
does. It also chooses the order: rows that make the test expensive come first.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

MOST = 1_000
"""A witness of up to so many rows is always made minimal."""


class Needed(NamedTuple):
    """The rows that are left: a minimal witness, if none is doubtful.

    Attributes:
        rows: the rows that were kept, in the given order.
        doubtful: those of them that may not be needed: a test had no answer, or the budget ended.
    """

    rows: list[int]
    doubtful: list[int]


def minimise(
    rows: Sequence[int],
    refuses: Callable[[list[int]], bool | None],
    spent: Callable[[], bool] = lambda: False,
) -> Needed:
    """Forget as many rows as can be forgotten.

    Args:
        rows: rows that contradict each other, in the order in which to forget them.
        refuses: whether a part of the rows (in their order) still contradicts itself with all
            other rows forgotten; None if that is unknown.
        spent: whether the budget is spent; the rows not yet tested are doubtful then.
    """
    kept: list[int] = []
    doubtful: list[int] = []
    rest = list(rows)
    run = len(rest)
    while rest:
        if spent():
            return Needed(kept + rest, doubtful + rest)
        answer = refuses(kept + rest[run:])
        if answer:
            rest = rest[run:]
            run *= 2
            continue
        if run == 1:
            kept.append(rest[0])
            doubtful += rest[:1] if answer is None else []
            del rest[0]
        run = max(1, min(run, len(rest)) // 2)
    return Needed(kept, doubtful)
