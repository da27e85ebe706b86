"""A history that a decider searches in place of the recorded one, step by step.

Some deciders do not search the recorded operations but others that they derive from them: with
tighter bounds in time, or with further operations such as the expiry of a session.
"""

from collections.abc import Hashable, Iterable
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from rumpus.checker.deciders.operation_table import INFO, OK, OperationTable
from rumpus.checker.deciders.values import Values


class SearchStep(NamedTuple):
    """An operation of the derived history.

    Attributes:
        row: the row of the recorded operation that it stands for; -1 for none.
        f, argument, result: as the model of the search takes them.
        call, returned: bounds of the time at which it took effect.
        certain: whether it took effect; otherwise it may never have.
    """

    row: int
    f: str
    argument: Hashable
    result: Hashable
    call: int
    returned: int
    certain: bool


def table_of_steps(steps: Iterable[SearchStep]) -> OperationTable:
    """The steps as a table, in order of call; its column ``process`` holds their rows."""
    steps = sorted(steps, key=attrgetter("call"))
    functions = tuple(dict.fromkeys(step.f for step in steps))
    number = {f: place for place, f in enumerate(functions)}
    return OperationTable(
        functions=functions,
        f=np.array([number[step.f] for step in steps], dtype=np.int16),
        outcome=np.array([OK if step.certain else INFO for step in steps], dtype=np.int8),
        process=np.array([step.row for step in steps], dtype=np.int64),
        call=np.array([step.call for step in steps], dtype=np.int64),
        returned=np.array([step.returned for step in steps], dtype=np.int64),
        argument=Values.of(step.argument for step in steps),
        result=Values.of(step.result for step in steps),
    )
