"""All checks of a run of a queue, except whether enough happened in it.

Operations are those of ``queue_accounting``, and ``inspect`` -> {elements: [value], nodes: claims}
at the end. If the history has a ``work``, ``acknowledge`` or ``release``, the queue is one whose
elements are claimed first and acknowledged later.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.queue_accounting import (
    Removal,
    accounts,
    blamed,
    check_elements,
    first_claims,
    without,
)
from rumpus.checker.families.queue_waiting import check_waiting
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.verdict import Anomaly, CheckResult

CURATORS_FRAME: Final = b"\x00\x01\x00\x01\x01"
"""How the data of a node begin that Curator's ``DistributedQueue`` has made."""


def check_queue(
    history: History,
    truth: ServerTruth | None,
    clock: WallClock | None,
    path: str,
    order: str | None,
) -> list[CheckResult]:
    """Judge what became of each element, in what order, and who waited in vain.

    Args:
        history: the run.
        truth: what the servers' logs say; None when they are not at hand.
        clock: lays the servers' times on the run's clock; None when it is not known.
        path: below which the queue is.
        order: the model of the order in which elements come out; None if there is none.
    """
    claimed = any(op.f in ("work", "acknowledge", "release") for op in history)
    books = accounts(history)
    look = _last_look(history)
    left = None if look is None else look.value["elements"]
    removals = None
    if truth is not None and clock is not None:
        removals = removals_by_clients(history, truth, clock, path, books.elements)
    accounted = check_elements(history, books, claimed=claimed, left=left, removals=removals)
    checks = [accounted, check_timeouts(history)]
    if order is not None:
        # What is lost, or comes out twice, would be out of order as well.
        rest = without(history, blamed(history, accounted))
        part = first_claims(rest, accounts(rest)) if claimed else rest
        functions = {"enqueue", "dequeue"}
        checks.append(check_model(part, MODELS[order], "out-of-order", functions=functions))
    checks.append(check_waiting(history, books, left))
    checks.append(_left_behind(history, look))
    return checks


def removals_by_clients(
    history: History, truth: ServerTruth, clock: WallClock, path: str, values: Collection[Any]
) -> Mapping[Any, Removal]:
    """Which client removed which of these elements below a path."""
    clients = history.clients_of_sessions()
    found: dict[Any, Removal] = {}
    for life in truth.znodes(path):
        value = element_of(life.data or b"").decode(errors="replace")
        if value not in values or life.how not in ("deleted", "multi"):
            continue
        client = clients.get(life.deleted_by or "")
        if client is not None and life.deleted_ms is not None:
            found[value] = Removal(client, clock.monotonic(life.deleted_ms))
    return found


def element_of(data: bytes) -> bytes:
    """The element that a node's data hold.

    They are the element, or have one in the frame of Curator's ``ItemSerializer``: a version, a
    mark, the length, the element, and a mark of the end.
    """
    if len(data) >= len(CURATORS_FRAME) + 5 and data.startswith(CURATORS_FRAME):
        start = len(CURATORS_FRAME) + 4
        return data[start : start + int.from_bytes(data[start - 4 : start], "big")]
    return data


def _last_look(history: History) -> Op | None:
    """The last answered look at what is left."""
    looks = [
        operation.completion
        for operation in history.operations()
        if operation.invoke.f == "inspect" and operation.outcome == "ok"
    ]
    return looks[-1] if looks else None


def _left_behind(history: History, look: Op | None) -> CheckResult:
    """Claims that stand although every client is done."""
    result = CheckResult(name="left behind")
    final = final_phase(history)
    if final is None:
        return result
    if look is None:
        result.unknown.append("no client could look what was left in the queue")
        return result
    for node in look.value["nodes"]:
        owner = node["owner"]
        whose = f"owned by the live session {owner}" if owner else "which is not ephemeral"
        result.anomalies.append(
            Anomaly(
                kind="orphan-node",
                description=f"the claim {node['path']}, {whose}, was left at the end",
                ops=[look.index],
                start=final.time,
                end=look.time,
            )
        )
    return result
