"""Leader election: one leader at a time, one in each epoch, and epochs only increase.

A process leads from a point in its ``campaign`` to a point in its ``resign``. **Decided** as a
fenced mutex over these spans whose tokens are the epochs (`checker.deciders.locks.fenced_mutex`:
the algorithm and why it is right). Without any epoch it is a mutex.

``lost``, if a history has it, means that a leader learned that it no longer leads. It ends the
leadership at a point in that operation, like ``resign``, but it is allowed if the process was not
the leader, and does not show that its session lived. So without sessions the leaderships, from
``campaign`` to ``lost``, must not overlap. If the result of ``campaign`` names a session, the
leadership may have ended with the session, at any time after the last operation that shows that it
lived, and the leader may have learned it later.

**Algorithm for ``lost``.** It is treated as a release of unknown outcome, after which the process
gets a new number: its later operations are independent of what it held before. A release of unknown
outcome may never take effect, but that only makes the hold longer, which allows nothing new.

**Cost**: that of the fenced mutex, O(n log n).
"""

import re
from dataclasses import replace

import numpy as np

from rumpus.checker.deciders.decide import Algorithm, ModelEntry, decided_key_by_key
from rumpus.checker.deciders.decision import Decision, Witness
from rumpus.checker.deciders.locks.fenced_mutex import decide_fenced_mutex
from rumpus.checker.deciders.locks.granted_tokens import GRANTS, LOST, own_operations
from rumpus.checker.deciders.locks.holds_table import TRY
from rumpus.checker.deciders.locks.mutex import FUNCTIONS
from rumpus.checker.deciders.operation_table import INFO, NEVER, OK, OperationTable

_ALGORITHM = Algorithm(
    name="leaderships in order of epochs",
    when="always",
    cost="O(n log n)",
    source="a fenced mutex; Ongaro and Ousterhout, In search of an understandable consensus "
    "algorithm, USENIX ATC 2014 (one leader a term)",
)


def decide_leader_election(table: OperationTable) -> Decision:
    """Whether the operations of one election follow the model.

    Raises:
        WrongOperations: an epoch is no integer; or a process calls something while its last
            operation is still open.
    """
    lost = np.flatnonzero(table.is_f(LOST) & (table.outcome == OK))
    if not len(lost):
        return decide_fenced_mutex(table, "epoch", "token", without_tokens=True)
    names = _numbers_by_leadership(table, lost)
    decision = decide_fenced_mutex(
        _with_releases(table, names), "epoch", "token", without_tokens=True
    )
    known = dict(zip(names, table.process.tolist(), strict=True))

    def own_name(found: re.Match[str]) -> str:
        return f"process {known.get(int(found[1]), found[1])}"

    if decision.witness is not None:
        told = decision.witness.description
        decision.witness.description = re.sub(r"process (\d+)", own_name, told)
        _add_operations_between(table, decision.witness)
    decision.unknown = [re.sub(r"process (\d+)", own_name, each) for each in decision.unknown]
    return decision


def _add_operations_between(table: OperationTable, witness: Witness) -> None:
    """Add the operations of a process that continued after ``lost`` to a witness.

    If they were forgotten its two grants could be one, and it could have resigned from an earlier
    grant.
    """
    rows = np.array(witness.operations)
    lost = table.is_f(LOST) & (table.outcome == OK)
    is_grant = table.is_f(*GRANTS)
    for process in np.unique(table.process[rows]):
        own = np.flatnonzero(table.process == process)
        told = np.intersect1d(own, rows)
        first, last = int(told[0]), int(told[-1])
        if not is_grant[told].any():
            first = int(own[0])
        if lost[own[(own >= first) & (own < last)]].any():
            more = own_operations(table, first, last)
            witness.operations = sorted({*witness.operations, *more})
            witness.minimal = False


def _numbers_by_leadership(table: OperationTable, lost: np.ndarray) -> list[int]:
    """For each row a number of its process that changes with every ``lost``."""
    is_lost = np.zeros(len(table), dtype=np.bool_)
    is_lost[lost] = True
    following = int(table.process.max()) + 1
    current: dict[int, int] = {}
    names: list[int] = []
    for process, ends in zip(table.process.tolist(), is_lost.tolist(), strict=True):
        names.append(current.get(process, process))
        if ends:
            current[process] = following
            following += 1
    return names


def _with_releases(table: OperationTable, names: list[int]) -> OperationTable:
    """The same operations, with every ``lost`` as a release of unknown outcome."""
    happened = table.is_f(LOST) & (table.outcome == OK)
    return replace(
        table,
        outcome=np.where(happened, INFO, table.outcome).astype(np.int8),
        returned=np.where(happened, NEVER, table.returned),
        process=np.array(names, dtype=np.int64),
    )


LEADER_ELECTION = ModelEntry(
    name="leader-election",
    summary="one leader at a time and one an epoch, and epochs only grow",
    runs="`election`",
    functions={
        **FUNCTIONS,
        **dict.fromkeys(GRANTS, "ok: an epoch, or an object of epoch or token, session, node"),
        TRY: "as campaign; what was refused, or answered false, is no part of the model",
        "resign": "by the leader",
        "release": "as resign",
        LOST: "the leader learned that it leads no more",
    },
    algorithms=(_ALGORITHM,),
    decide=decided_key_by_key(lambda part, _, __: decide_leader_election(part), _ALGORITHM),
    sequential=True,
    expires=True,
)
