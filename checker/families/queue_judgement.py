"""All checks of a run of a queue, except whether enough happened in it.

Operations are those of ``queue_accounting``, and ``inspect`` -> {elements: [value], nodes: claims}
at the end. If the history has a ``work``, ``acknowledge`` or ``release``, the queue is one whose
elements are claimed first and acknowledged later.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import STUCK_WAITER
from rumpus.checker.every_run.liveness import ORPHAN_NODE
from rumpus.checker.every_run.model_check import check_model
from rumpus.checker.families.batches import each_put_alone
from rumpus.checker.families.queue_accounting import (
    DUPLICATE_ELEMENT,
    LOST_ELEMENT,
    OUT_OF_ORDER,
    PHANTOM_ELEMENT,
    Accounts,
    Removal,
    accounts,
    blamed,
    first_claims,
    judge_elements,
    without,
)
from rumpus.checker.families.queue_waiting import judge_waiting
from rumpus.checker.history import History, Op, final_phase
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

CURATORS_FRAME: Final = b"\x00\x01\x00\x01\x01"
"""How the data of a node begin that Curator's ``DistributedQueue`` has made."""


class Books(NamedTuple):
    """The accounts of a queue, and the last answered look at what is left in it."""

    accounts: Accounts
    look: Op | None
    claimed: bool

    @property
    def left(self) -> Collection[Any] | None:
        """Values of the elements still there at the end; None if nobody could look."""
        found: Collection[Any] | None = None if self.look is None else self.look.value["elements"]
        return found


def books_of(timeline: Timeline) -> Books:
    """A part of a queue's timeline: what was put in, what came out, and what is left."""
    history = timeline.history
    claimed = any(op.f in ("work", "acknowledge", "release") for op in history)
    return Books(accounts(history), _last_look(history), claimed)


@check(
    "elements",
    finds=[LOST_ELEMENT, DUPLICATE_ELEMENT, PHANTOM_ELEMENT],
    least=[Least(50, "came out", "elements that came out")],
)
def check_elements(timeline: Timeline) -> CheckResult:
    """Judge what became of each element."""
    history, books = timeline.history, timeline.part(books_of)
    removals = None
    if timeline.logs is not None:
        values = books.accounts.elements
        removals = removals_by_clients(history, *timeline.logs, timeline.path, values)
    return judge_elements(
        history, books.accounts, claimed=books.claimed, left=books.left, removals=removals
    )


@check("out of order", finds=[OUT_OF_ORDER])
def check_order_of_elements(timeline: Timeline, model: str) -> CheckResult | None:
    """Judge the order in which elements came out; None if the recipe promises none.

    Args:
        timeline: the run.
        model: the model of the order.
    """
    if "out-of-order" not in timeline.promises.prevents:
        return None
    history = each_put_alone(timeline.history)
    # What is lost, or comes out twice, would be out of order as well.
    rest = without(history, blamed(history, timeline.part(check_elements)))
    claimed = timeline.part(books_of).claimed
    part = replace(timeline, history=first_claims(rest, accounts(rest)) if claimed else rest)
    return check_model(part, model, "out-of-order", functions={"enqueue", "dequeue"})


@check("waiting", finds=[STUCK_WAITER])
def check_waiting(timeline: Timeline) -> CheckResult:
    """Judge clients that waited in vain."""
    books = timeline.part(books_of)
    return judge_waiting(timeline, books.accounts, books.left)


@check("left behind", finds=[ORPHAN_NODE])
def check_left_behind(timeline: Timeline) -> CheckResult:
    """Report claims that stand although every client is done."""
    return _left_behind(timeline.history, timeline.part(books_of).look)


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
    looks = [done for _, done in history.answered("inspect")]
    return looks[-1] if looks else None


def _left_behind(history: History, look: Op | None) -> CheckResult:
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
