"""The model ``append``: which of two algorithms decides it.

If each put and each piece that a read shows was written once, the order that the reads show
decides (`checker.deciders.registers.append_eras`); otherwise the history is searched
(`checker.deciders.registers.append_search`).
"""

from collections.abc import Hashable

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key, searched
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
_SEARCH = searched("otherwise: over the texts that some read shows")


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    decision = decide_appends(table, initial)
    if decision is None:
        decision = search_appends(table, initial, budget)
        decision.algorithm = _SEARCH.name
    return decision


APPEND = ModelEntry(
    name="append",
    summary="a string or list at whose end pieces are put; reads show all of it",
    runs="`append`, `failover` and `sealed-log`, log by log",
    functions={
        "append": "(piece)",
        "read": "() -> whole",
        "get": "() -> whole",
        "write": "(whole)",
        "put": "(whole)",
    },
    initial="the value before everything (empty)",
    algorithms=(_ERAS, _SEARCH),
    decide=decided_key_by_key(_decide, _ERAS),
)
