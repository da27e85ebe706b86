"""Whether consumers get what is there for them.

- In the final phase, with every fault healed, every client puts an element and must get one.
- At any time, a dequeue that ended without one, or with one at last, although an element lay
  there for ``PATIENCE_NS`` before its end, with no fault in force and its client connected all the
  while, has slept.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from typing import Any

from checker.exercise import fault_windows
from checker.final_phase import judged_phase
from checker.history import History, Operation
from checker.queue_accounting import Accounts, taken
from checker.verdict import Anomaly, CheckResult

PATIENCE_NS = 2_000_000_000
"""For how long an element may lie there while somebody waits for one."""


def check_waiting(history: History, books: Accounts, left: Collection[Any] | None) -> CheckResult:
    """Judge who waited in vain.

    Args:
        history: the run.
        books: its accounts.
        left: values of the elements still there at the end; None if nobody could look.
    """
    result = CheckResult(name="waiting")
    _final(history, result)
    slept = _sleepers(history, books, left or ())
    result.anomalies += slept
    result.stats = {**result.stats, "slept": len(slept)}
    return result


def _final(history: History, result: CheckResult) -> None:
    asked, phase = judged_phase(history, result, "clients asked again once every fault was healed")
    if phase is None:
        return
    tries: dict[int, list[Operation]] = {}
    for operation in history.operations():
        if operation.invoke.time >= phase.time and operation.invoke.f == "dequeue":
            client = history.client_of(int(operation.invoke.process))
            tries.setdefault(client, []).append(operation)
    asked.observed = len(tries)
    served = [client for client, own in tries.items() if any(map(_served, own))]
    result.stats = {"final_clients": len(tries), "final_served": len(served)}
    if len(served) < len(tries) and not history.events("control", "phase-end"):
        result.unknown.append("the final phase was cut short")
        return
    for client in sorted(tries.keys() - set(served)):
        own = tries[client]
        last = own[-1].completion or own[-1].invoke
        result.anomalies.append(
            Anomaly(
                kind="stuck-waiter",
                description=(
                    f"c{client} got nothing in {len(own)} tries with every fault healed, though "
                    f"an element was put for everybody ({last.error or 'no answer'})"
                ),
                ops=[index for operation in own for index in operation.indices],
                clients=[client],
                start=own[0].invoke.time,
                end=last.time,
            )
        )


def _served(operation: Operation) -> bool:
    return operation.outcome == "ok" and taken(operation) is not None


def _sleepers(history: History, books: Accounts, left: Collection[Any]) -> list[Anomaly]:
    """Dequeues that went on while an element lay there and nothing was in the way."""
    troubles = [(window.begun, window.ended or history.end) for window in fault_windows(history)]
    connected = _connected_since(history)
    nameless = sorted(take.invoke.time for take in books.nameless)
    lying = _lying(books, left, history.end)
    inside = [since for since, _, _ in lying]
    found: list[Anomaly] = []
    for operation in history.operations():
        if (
            operation.invoke.f != "dequeue"
            or operation.completion is None
            or operation.outcome == "info"
        ):
            continue
        end = operation.completion.time
        since = end - PATIENCE_NS
        client = history.client_of(int(operation.invoke.process))
        if operation.invoke.time > since or connected(client, end) > since:
            continue
        if any(begun <= end and ended >= since for begun, ended in troubles):
            continue
        for _, until, value in lying[: bisect_right(inside, since)]:
            put = books.elements[value].put
            assert put is not None
            known = bisect_left(nameless, end) == bisect_left(nameless, put.invoke.time)
            if known and (until > end or books.elements[value].takes[:1] == [operation]):
                found.append(_slept(operation, value, client))
                break
    return found


def _slept(operation: Operation, value: Any, client: int) -> Anomaly:
    done = operation.completion
    assert done is not None
    waited = (done.time - operation.invoke.time) / 1e9
    return Anomaly(
        kind="stuck-waiter",
        description=(
            f"c{client} waited {waited:.1f} s, though {value!r} lay there for more than "
            f"{PATIENCE_NS / 1e9:g} s before it ended, with no fault in force and its client "
            "connected"
        ),
        ops=operation.indices,
        clients=[client],
        start=operation.invoke.time,
        end=done.time,
    )


def _lying(books: Accounts, left: Collection[Any], end: int) -> list[tuple[int, int, Any]]:
    """From when until when an element surely was there for anybody, and its value, in order."""
    found = []
    for element in books.elements.values():
        calls = [take.invoke.time for take in [*element.takes, *element.doubtful]]
        if not element.inside or not (calls or element.value in left):
            continue
        assert element.put is not None
        assert element.put.completion is not None
        found.append((element.put.completion.time, min(calls, default=end), element.value))
    return sorted(found, key=lambda lay: lay[0])


def _connected_since(history: History) -> Any:
    """Function from client and time to since when it was connected; the time itself if not."""
    changes: dict[int, list[tuple[int, str]]] = {}
    for op in history.events("session"):
        if op.f in ("connected", "suspended", "lost", "started", "exited", "closed"):
            changes.setdefault(op.value["client"], []).append((op.time, op.f))

    def since(client: int, time: int) -> int:
        own = changes.get(client, [])
        at = bisect_right(own, (time, "~")) - 1
        return own[at][0] if at >= 0 and own[at][1] == "connected" else time

    return since
