"""Unique ids: no id is generated twice.

**Decided**: whether all acknowledged `generate` operations answered different ids. Values of
different types are different ids (1 and "1"). Times do not matter, and operations of unknown
outcome returned no id.

**Algorithm.** The generator is an object whose state is the set of ids that it has generated. Any
order of operations with distinct results is legal, so it is enough to check that the results are
distinct: equal ids are adjacent when sorted.

**Cost**: O(n log n) for one sort. It is Jepsen's ``unique-ids`` checker.
"""

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, accepted, refused
from rumpus.checker.deciders.operation_table import OK, OperationTable
from rumpus.checker.deciders.values import MISSING, WrongOperations
from rumpus.checker.deciders.wording import at, who

_ALGORITHM = Algorithm(
    name="sorted ids",
    when="always",
    cost="O(n log n)",
    source="Kingsbury, Jepsen, checker unique-ids; distinctness by sorting",
)


def decide_unique_ids(table: OperationTable) -> Decision:
    """Whether no id was generated twice.

    Raises:
        WrongOperations: an acknowledged operation answered no id.
    """
    rows = np.flatnonzero(table.outcome == OK)
    numbers = table.result.numbers[rows]
    ordered = np.sort(numbers)
    if len(ordered) and ordered[0] == MISSING:
        row = int(rows[numbers == MISSING][0])
        raise WrongOperations(f"generate of {who(table, row)} was acknowledged without an id")
    if not (ordered[1:] == ordered[:-1]).any():
        return accepted()
    order = np.argsort(numbers, kind="stable")
    same = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]])
    place = same[np.argmin(order[same + 1])]
    one, other = (int(row) for row in rows[order[place : place + 2]])
    first, second = int(table.returned[one]), int(table.returned[other])
    return refused(
        [one, other],
        f"{who(table, one)} and {who(table, other)} were both given the id "
        f"{table.result[one]!r}, by {at(table, first, second)} and by {at(table, second, first)}",
    )


UNIQUE_IDS = ModelEntry(
    name="unique-ids",
    summary="no id is generated twice",
    runs="`sequence`",
    functions={"generate": "() -> id, any value"},
    algorithms=(_ALGORITHM,),
    decide=decided_key_by_key(lambda part, _, __: decide_unique_ids(part), _ALGORITHM),
)
