"""The minimiser of all witnesses: of rows that contradict each other, those that are needed.

To forget an operation only makes a history more acceptable (`checker.deciders.decision.Witness`).
So one pass is enough: forget one row after the other, and keep those without which the rest would
be acceptable. A row that is needed stays needed when more is forgotten later (deletion-based, as
for minimal unsatisfiable cores: Marques-Silva, Minimal unsatisfiability: models, algorithms and
applications, ISMVL 2010). Runs of rows are forgotten at once, twice as many after each success and
half as many after each failure. So the number of questions grows with the size of the witness,
and only with the logarithm of the history.

A decider passes rows that are likely to contradict each other, and answers whether some of them
still do. The order is the decider's: what makes the answer expensive goes first.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

MOST = 1_000
"""Up to so many rows a witness is always made minimal."""


class Needed(NamedTuple):
    """What is left of some rows: a minimal witness, if no row is doubtful.

    Attributes:
        rows: those that were kept, in the order in which they were given.
        doubtful: those among them of which it is not known whether they are needed.
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
        rows: rows that contradict each other, those to be forgotten first in front.
        refuses: whether some of the rows, in their order, still contradict each other with all
            others forgotten; None if that is not known.
        spent: whether the budget is spent. Rows that are left then are doubtful.
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
