"""The lowest version at which each refused cas can have taken place.

A refused cas found some version other than the one it expected. Like a read of version j it
requires that every call of lower rank is at most its return, and its own call at most every return
of higher rank (`version_order`). The first condition is weaker for a lower j. The second one says
that j is at least the version of every operation that returned before the cas was called, refused
ones included. So the lowest such j (or the next one, if that is the expected version) is best for
all operations, and refused ones can be placed in order of their calls. A cas placed above all known
versions requires one more write.

**Cost**: O(n log n) for two sorts of the refused.
"""

from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.values import Ints


class Placed(NamedTuple):
    """The versions of refused cas.

    Attributes:
        version: the lowest version of each.
        holder: the refused cas that returned before and so bounds the version; -1 if the bound
            comes from another operation, or there is none.
    """

    version: Ints
    holder: Ints


def place_refused(call: Ints, returned: Ints, expected: Ints, first_return_from: Ints) -> Placed:
    """The lowest version of each refused cas.

    Args:
        call: of each.
        returned: of each.
        expected: the version that each expected.
        first_return_from: of each version, the first return of anything that has that version or
            a later one.
    """
    lowest = np.searchsorted(first_return_from[1:], call, side="left").tolist()
    calls, returns, unlike = call.tolist(), returned.tolist(), expected.tolist()
    answered = np.argsort(returned, kind="stable").tolist()
    version = [0] * len(calls)
    holder = [-1] * len(calls)
    highest, holding, done = -1, -1, 0
    for place in np.argsort(call, kind="stable").tolist():
        # One that returned before this call was also called before it: it is placed already.
        while returns[answered[done]] < calls[place]:
            if version[answered[done]] > highest:
                highest, holding = version[answered[done]], answered[done]
            done += 1
        least = lowest[place]
        if highest > least:
            least, holder[place] = highest, holding
        version[place] = least + (least == unlike[place])
    return Placed(np.array(version, dtype=np.int64), np.array(holder, dtype=np.int64))
