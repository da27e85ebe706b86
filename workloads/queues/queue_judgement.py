"""From what a run of a queue left to its verdict."""

from collections.abc import Iterable, Mapping
from typing import Any

from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.families.queue_accounting import (
    Accounts,
    Element,
    Removal,
    accounts,
    blamed,
    check_elements,
    first_claims,
    without,
)
from rumpus.checker.families.queue_waiting import check_waiting
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.verdict import Anomaly, CheckResult, Requirement, Verdict
from rumpus.workloads.framework.judgement import Evidence, judge_exercised

LEAST_ELEMENTS = 50
"""How many elements must have come out to make a run meaningful."""

LEAST_AWAITED = 5
"""How many of them were put while their consumer waited already."""


def judge_queue(evidence: Evidence, model: ModelEntry) -> Verdict:
    """Judge a run in which clients put elements in and took them out.

    Where somebody has worked on an element, elements are claimed first and acknowledged.

    Args:
        evidence: what the run left.
        model: what the order is held against.
    """
    history, promises = evidence.history, evidence.promises
    claimed = any(op.f in ("work", "acknowledge", "release") for op in history)
    books = accounts(history)
    inspected = _inspected(history)
    left = None if inspected is None else inspected.value["elements"]
    accounted = check_elements(
        history,
        books,
        claimed=claimed,
        left=left,
        removals=_removals(evidence, books),
    )
    checks = [accounted, check_timeouts(history)]
    if "out-of-order" in promises.prevents:
        # What is lost, or comes out twice, would be out of order as well.
        rest = without(history, blamed(history, accounted))
        part = first_claims(rest, accounts(rest)) if claimed else rest
        checks.append(check_model(part, model, "out-of-order", functions={"enqueue", "dequeue"}))
    checks.append(check_waiting(history, books, left))
    checks.append(_left_behind(history, inspected))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("elements that came out", LEAST_ELEMENTS, accounted.stats["came out"]),
            Requirement(
                "elements that somebody waited for",
                LEAST_AWAITED,
                _awaited(books.elements.values()),
            ),
        ],
        expiries=evidence.expiries,
        expired="sessions that expired",
    )


def _inspected(history: History) -> Op | None:
    """The last answered look at what is left."""
    looks = [
        operation.completion
        for operation in history.operations()
        if operation.invoke.f == "inspect" and operation.outcome == "ok"
    ]
    return looks[-1] if looks else None


def _left_behind(history: History, inspected: Op | None) -> CheckResult:
    """Claims that stand although every client is done."""
    result = CheckResult(name="left behind")
    final = final_phase(history)
    if final is None:
        return result
    if inspected is None:
        result.unknown.append("nobody could look what was left in the queue")
        return result
    for node in inspected.value["nodes"]:
        owner = node["owner"]
        whose = f"owned by the live session {owner}" if owner else "which is not ephemeral"
        result.anomalies.append(
            Anomaly(
                kind="orphan-node",
                description=f"the claim {node['path']}, {whose}, was left with nobody to end it",
                ops=[inspected.index],
                start=final.time,
                end=inspected.time,
            )
        )
    return result


def _removals(evidence: Evidence, books: Accounts) -> Mapping[Any, Removal] | None:
    """Which client removed which element, as far as the servers' logs tell."""
    if evidence.truth is None or evidence.clock is None:
        return None
    clients = evidence.history.clients_of_sessions()
    found: dict[Any, Removal] = {}
    for life in evidence.truth.znodes(evidence.path):
        value = (life.data or b"").decode(errors="replace")
        if value not in books.elements or life.how not in ("deleted", "multi"):
            continue
        client = clients.get(life.deleted_by or "")
        if client is not None and life.deleted_ms is not None:
            found[value] = Removal(client, evidence.clock.monotonic(life.deleted_ms))
    return found


def _awaited(elements: Iterable[Element]) -> int:
    """How many came out to somebody who had asked before they were put."""
    return sum(
        any(take.invoke.time < element.put.invoke.time for take in element.takes)
        for element in elements
        if element.put is not None
    )
