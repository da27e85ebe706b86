"""At which version a refused cas can have been: at the least that is allowed.

A refused cas happened at some version other than the one it expected. Like a read of version j it
wants every call of lower rank to be at most its return, and its own call to be at most every
return of higher rank (`version_order`). The lower j, the weaker the first wish;
the second says that j is at least the version of whatever returned before the cas was called,
refused ones included. So the least j that this allows, or the next if that is the expected one, is
the best for everybody, and refused ones can be placed in order of their calls. What is placed above
all versions that are known wants one more write.

**Cost**: O(n log n) for two sorts of the refused.
"""

from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.operation_table import Ints


class Placed(NamedTuple):
    """Where the refused are.

    Attributes:
        version: the least that each can have been at.
        holder: the refused one that holds it there by having returned before; -1 if it is
            something with a version of its own, or nothing.
    """

    version: Ints
    holder: Ints


def place_refused(call: Ints, returned: Ints, expected: Ints, first_return_from: Ints) -> Placed:
    """The least version of each refused cas.

    Args:
        call: when it was called.
        returned: when it was refused.
        expected: the version at which it was not.
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
        # Who returned before this one was called was called before it, too: it is placed already.
        while returns[answered[done]] < calls[place]:
            if version[answered[done]] > highest:
                highest, holding = version[answered[done]], answered[done]
            done += 1
        least = lowest[place]
        if highest > least:
            least, holder[place] = highest, holding
        version[place] = least + (least == unlike[place])
    return Placed(np.array(version, dtype=np.int64), np.array(holder, dtype=np.int64))
