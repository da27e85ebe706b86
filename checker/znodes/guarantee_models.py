"""Models of ZooKeeper's guarantees: which are decided together, and minimal witnesses."""

from collections.abc import Callable, Hashable, Sequence

from rumpus.checker.deciders.decide import NO_PART, Algorithm, ModelEntry
from rumpus.checker.deciders.decision import Budget, Decision, accepted
from rumpus.checker.deciders.minimal_rows import MOST, minimise
from rumpus.checker.deciders.operation_table import OperationTable
from rumpus.checker.znodes.session_order import check_session_order
from rumpus.checker.znodes.watch_events import check_watch_events
from rumpus.checker.znodes.znode_data import check_znode_data
from rumpus.checker.znodes.znode_operations import ZnodeOperations, explaining
from rumpus.checker.znodes.zxid_order import check_zxid_order

Guarantee = Callable[[ZnodeOperations], Decision | None]


def sessions_without_syncs(operations: ZnodeOperations) -> Decision | None:
    """`check_session_order` of writes and reads alone."""
    return check_session_order(operations, syncs=False)


SEQUENTIAL: tuple[Guarantee, ...] = (check_zxid_order, check_znode_data, sessions_without_syncs)
"""There is one order of all transactions, and each session's reads follow it."""

SESSION: tuple[Guarantee, ...] = (
    check_zxid_order,
    check_znode_data,
    check_session_order,
    check_watch_events,
)
"""All that ZooKeeper guarantees to a session: `SEQUENTIAL`, syncs, and watch events."""


def decide_guarantees(
    table: OperationTable, guarantees: Sequence[Guarantee], budget: Budget
) -> Decision:
    """Whether all guarantees hold. A refusal explains the first guarantee that does not.

    Args:
        table: the operations on all znodes (zxids order all of them).
        guarantees: checked in this order.
        budget: time for making the witness minimal.

    Raises:
        WrongOperations: an acknowledged operation has no zxid.
    """
    decision = _first_refusal(ZnodeOperations(table), guarantees)
    if decision is None:
        return accepted()
    return _minimal(table, guarantees, decision, budget)


def _first_refusal(operations: ZnodeOperations, guarantees: Sequence[Guarantee]) -> Decision | None:
    found = (guarantee(operations) for guarantee in guarantees)
    return next((decision for decision in found if decision is not None), None)


def _minimal(
    table: OperationTable, guarantees: Sequence[Guarantee], decision: Decision, budget: Budget
) -> Decision:
    """The refusal, with a minimal set of operations that contradict each other.

    A smaller set may violate another guarantee than the whole did; the explanation is then of
    that guarantee.
    """
    assert decision.witness is not None
    found = decision.witness.operations
    if len(found) > MOST:
        decision.witness.minimal = False
        return decision
    part, place = explaining(table, found)

    def refuses(rows: list[int]) -> bool:
        return (
            _first_refusal(ZnodeOperations(part, [place[row] for row in rows]), guarantees)
            is not None
        )

    left, doubtful = minimise(found, refuses, lambda: budget.spent)
    final = _first_refusal(ZnodeOperations(table, left), guarantees)
    assert final is not None
    assert final.witness is not None
    final.witness.operations = left
    final.witness.minimal = not doubtful
    return final


def _decider(
    guarantees: Sequence[Guarantee], name: str
) -> Callable[[OperationTable, Hashable, Budget], Decision]:
    def decide(table: OperationTable, initial: Hashable, budget: Budget) -> Decision:  # noqa: ARG001 - the front's signature
        decision = decide_guarantees(table, guarantees, budget)
        decision.algorithm = name
        return decision

    return decide


_WRITE = "{key, value} -> {version, zxid}"
_READ = "{key} -> {value, version, zxid}, or null if there is no node"
_SOURCES = "Hunt et al., ZooKeeper, USENIX ATC 2010; Gibbons and Korach, SIAM J. Comput. 1997"
_ORDER = Algorithm(
    name="zxid order",
    when="always",
    cost="O(n log n)",
    source=_SOURCES,
)
_FUNCTIONS = {
    "write": _WRITE,
    "create": _WRITE,
    "read": _READ,
    "watch": f"a read that leaves a watch: {_READ}",
    "event": "{key} -> null, or {zxid}: the watch's event arrived",
    "sync": "-> null; false if it is not known that a quorum was alive all the time",
}

SEQUENTIAL_CONSISTENCY = ModelEntry(
    name="sequential-consistency",
    summary="writes are linearizable in the order of zxids, and no session sees the state go back",
    runs="`register` and `watch`",
    functions={**_FUNCTIONS, "event": NO_PART, "sync": NO_PART},
    algorithms=(_ORDER,),
    decide=_decider(SEQUENTIAL, _ORDER.name),
)

SESSION_GUARANTEES = ModelEntry(
    name="session-guarantees",
    summary="`sequential-consistency`; a read after a sync is fresh; a watch fires once, in order "
    "(where events have zxids), after a change and before its session sees it",
    runs="`watch`, where the servers' logs are not at hand",
    functions=_FUNCTIONS,
    algorithms=(_ORDER,),
    decide=_decider(SESSION, _ORDER.name),
)
