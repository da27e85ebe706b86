"""Whether consumers get elements while there are some.

- In the final phase, with every fault healed, every client puts an element and must get one.
- A dequeue is stuck (it slept), even if it succeeded later, if for more than ``PATIENCE_NS`` it
  waited while one element was in the queue, no fault was in force, and its client was connected.
"""

from collections.abc import Collection, Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

from rumpus.checker.anomalies import anomaly_of, seconds_waited
from rumpus.checker.every_run.final_phase import ASKED_AGAIN, healed_phase
from rumpus.checker.families.queue_accounting import Accounts, Element, taken
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

PATIENCE_NS = 2_000_000_000
"""How long (ns) an element may be in the queue while a client waits for one."""


def judge_waiting(timeline: Timeline, books: Accounts, left: Collection[Any] | None) -> CheckResult:
    """Judge clients that waited in vain.

    Args:
        timeline: the run.
        books: its accounts.
        left: values of the elements still there at the end; None if nobody could look.
    """
    history = timeline.history
    result = CheckResult(name="waiting")
    _final(history, result)
    slept = _sleepers(timeline, books, left or ())
    result.anomalies += slept
    result.stats = {**result.stats, "slept": len(slept)}
    return result


def _final(history: History, result: CheckResult) -> None:
    phase = healed_phase(history, result, ASKED_AGAIN)
    if phase is None:
        return
    tries = phase.tries("dequeue")
    phase.asked.observed = len(tries)
    starved = [client for client, own in tries.items() if not any(map(_served, own))]
    result.stats = {"final_clients": len(tries), "final_served": len(tries) - len(starved)}
    if starved and phase.was_cut_short():
        return
    for client in starved:
        own = tries[client]
        what = f"got nothing in {len(own)} tries, although an element was put for every client"
        phase.stuck(client, what, own)


def _served(operation: Operation) -> bool:
    return operation.outcome == "ok" and taken(operation) is not None


def _sleepers(timeline: Timeline, books: Accounts, left: Collection[Any]) -> list[Anomaly]:
    """Dequeues that went on waiting while an element was there and no fault was in force."""
    history = timeline.history
    troubles = [(fault.begun, timeline.end_of(fault)) for fault in timeline.faults]
    connections = _connections(history)
    nameless = [
        (take.invoke.time, take.completion.time if take.completion else history.end)
        for take in books.nameless
    ]
    lying = [
        lay
        for element in books.elements.values()
        if (lay := _lay(element, left, history.end)) is not None
    ]
    found: list[Anomaly] = []
    for operation in history.operations():
        if (
            operation.invoke.f != "dequeue"
            or operation.completion is None
            or operation.outcome == "info"
        ):
            continue
        begun, ended = operation.invoke.time, operation.completion.time
        if ended - begun <= PATIENCE_NS:
            continue
        client = history.caller(operation)
        calm = _calm(_within(connections.get(client, []), begun, ended), troubles)
        own = _lay(books.elements.get(taken(operation)), left, ended, but=operation)
        for lay in lying if own is None else [*lying, own]:
            put = lay.put
            for since, until in _within(calm, lay.since, lay.until):
                known = not any(call < until and end > put for call, end in nameless)
                if until - since > PATIENCE_NS and known:
                    found.append(_slept(history, operation, lay.value, since, until))
                    break
            else:
                continue
            break
    return found


def _slept(history: History, operation: Operation, value: Any, since: int, until: int) -> Anomaly:
    waited, client = seconds_waited(operation), history.caller(operation)
    return anomaly_of(
        history,
        "stuck-waiter",
        f"c{client} waited {waited:.1f} s, although {value!r} was in the queue for "
        f"{(until - since) / 1e9:.1f} s of it, without a fault and with the client connected",
        operation,
    )


class _Lay(NamedTuple):
    """From when until when an element surely was there for anybody; ``put`` is the put's call."""

    value: Any
    put: int
    since: int
    until: int


def _lay(
    element: Element | None, left: Collection[Any], end: int, but: Operation | None = None
) -> _Lay | None:
    """When an element lay there for certain, one dequeue left aside; None if that was short."""
    if element is None or not element.inside:
        return None
    took = [*element.takes, *element.doubtful]
    if not (took or element.value in left):
        return None
    assert element.put is not None
    since = element.put.done.time
    until = min((take.invoke.time for take in took if take is not but), default=end)
    lay = _Lay(element.value, element.put.invoke.time, since, until)
    return lay if until - since > PATIENCE_NS else None


def _connections(history: History) -> dict[int, list[tuple[int, int]]]:
    """From when until when each client was connected, in order."""
    changes: dict[int, list[Op]] = {}
    for op in history.events("session"):
        if op.f in ("connected", "suspended", "lost", "started", "exited", "closed"):
            changes.setdefault(op.value["client"], []).append(op)
    return {
        client: [
            (op.time, after.time if after is not None else history.end)
            for op, after in zip_longest(own, own[1:])
            if op.f == "connected"
        ]
        for client, own in changes.items()
    }


def _within(spans: Iterable[tuple[int, int]], begun: int, ended: int) -> list[tuple[int, int]]:
    """The parts of spans of time in one span."""
    cut = [(max(since, begun), min(until, ended)) for since, until in spans]
    return [(since, until) for since, until in cut if since < until]


def _calm(
    spans: list[tuple[int, int]], troubles: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The parts of spans of time in which there is no trouble."""
    for begun, ended in troubles:
        before = [(since, min(until, begun)) for since, until in spans]
        after = [(max(since, ended), until) for since, until in spans]
        spans = [(since, until) for since, until in [*before, *after] if since < until]
    return spans
