"""Several registers, read and written together: each independent group is searched by itself."""

from collections.abc import Hashable

from rumpus.checker.deciders.decide import ModelEntry, searched
from rumpus.checker.deciders.decision import Budget, Decision
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.linearizability.search import check_linearizable
from rumpus.checker.models.multi_register import MultiRegister, independent_groups


def _decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:
    return check_linearizable(MultiRegister(initial, independent_groups(table)), table, budget)


MULTI_REGISTER = ModelEntry(
    name="multi-register",
    summary="several registers, read and written together in transactions",
    runs="none: `multi` writes all its registers at once, so they are one versioned register",
    functions={
        "txn": 'list of ["r", key, null] and ["w", key, value] -> the same with what was read',
        "read": "any -> {key: value, ...}",
        "write": "{key: value, ...}",
    },
    algorithms=(searched("always; each group of registers that operations connect by itself"),),
    decide=_decide,
    values=True,
    initial="an object of keys and values; registers that it does not name are null",
)
