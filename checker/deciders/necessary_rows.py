"""The operations that a refusal needs, for deciders that cannot name a few by themselves.

To forget an operation only makes a history more acceptable (`checker.deciders.decision.Witness`).
So one pass that forgets one after the other, and keeps those without which nothing is wrong any
more, ends with operations of which each is needed (Marques-Silva, Minimal unsatisfiability: models,
algorithms and applications, ISMVL 2010). Runs of operations are tried at once, longer after a
success and one by one after a failure.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

MOST = 1_000
"""For longer histories nobody asks for it."""


def necessary(wrong: NDArray[np.bool_], refuses: Callable[[NDArray[np.bool_]], bool]) -> list[int]:
    """Positions that contradict each other, none of which can be forgotten.

    Args:
        wrong: positions that are known to contradict each other.
        refuses: whether the positions of a mask, all others forgotten, do so too.
    """
    kept = wrong.copy()
    places = np.flatnonzero(wrong)[::-1]
    at, length = 0, 1
    while at < len(places):
        run = places[at : at + length]
        kept[run] = False
        if refuses(kept):
            at, length = at + len(run), 2 * length
        else:
            kept[run] = True
            if len(run) == 1:
                at += 1
            length = max(len(run) // 2, 1)
    return [int(place) for place in np.flatnonzero(kept)]
