"""A value at whose end pieces are put: the two ways in which it is decided.

Where each put and each piece that is read was written once, by the order that the reads show
(`checker.deciders.registers.append_eras`); otherwise by narrowing and search
(`checker.deciders.registers.append_search`).
"""

from collections.abc import Hashable

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, in_turns, searched
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.deciders.registers.append_eras import decide_appends
from rumpus.checker.deciders.registers.append_search import search_appends

_ERAS = Algorithm(
    name="prefix order",
    when="each put and each piece that is read was written once, and reads can be taken apart",
    cost="near-linear in the total length of the texts",
    source=(
        "Gibbons and Korach, Testing shared memories, SIAM J. Comput. 1997; Kingsbury and Alvaro, "
        "Elle, VLDB 2020"
    ),
)
_SEARCH = searched(
    "otherwise: narrowed by the order that reads show, over the texts that some read shows",
    "prefix order, windowed search",
)


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    def decide_part(part: OperationTable, budget: Budget) -> Decision:
        decision = decide_appends(part, initial)
        if decision is not None:
            decision.algorithm = _ERAS.name
            return decision
        decision = search_appends(part, initial, budget)
        decision.algorithm = _SEARCH.name
        return decision

    return in_turns(table, decide_part, budget)


APPEND = ModelEntry(
    name="append",
    summary="a string or list at whose end pieces are put; reads show all of it",
    runs="`append` and `failover`, log by log",
    functions={
        "append": "(piece)",
        "read": "() -> whole",
        "get": "() -> whole",
        "write": "(whole)",
        "put": "(whole)",
    },
    initial="the value before everything (empty)",
    algorithms=(_ERAS, _SEARCH),
    decide=_decide,
)
