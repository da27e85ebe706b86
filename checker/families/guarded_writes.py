"""Writes that carry a sequencer: none of a former holder is accepted after one of a later holder.

Operations:

- ``store`` {server, token, sequencer}, ok: {life, at}: a storage server accepted the write as its
  ``at``-th one since it was started (its *life*);
- ``publish`` {key, token, sequencer}, ok: {key, version}: a file was written, as that content
  generation.

``token`` is the czxid of the holder's znode: the recipe's lock generations are not relied on. It is
0 for a reader's sequencer, with which nothing may be stored.
"""

from itertools import pairwise

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

STALE_REQUEST = Kind(
    "stale-request", "a request of an earlier holder was accepted after one of a later holder"
)


@check("guarded writes", finds=[STALE_REQUEST])
def check_guarded_writes(timeline: Timeline) -> CheckResult:
    """Judge accepted writes (``stale-request``); O(n log n).

    A resource accepts writes in an order that it tells, so a write that was accepted after one with
    a higher token is wrong. A server that was restarted counts anew: across its lives a write is
    wrong if it was called after one with a higher token had been acknowledged.
    """
    history = timeline.history
    result = CheckResult(name="guarded writes")
    orders: dict[tuple[int, str], list[tuple[int, Operation]]] = {}
    servers: dict[int, list[Operation]] = {}
    refused = 0
    for operation in history.operations():
        call, done = operation
        if call.f not in ("store", "publish") or done is None:
            continue
        refused += done.type == "fail" and done.error == "refused"
        if done.type != "ok":
            continue
        if call.f == "store":
            server = call.value["server"]
            orders.setdefault((server, done.value["life"]), []).append(
                (done.value["at"], operation)
            )
            servers.setdefault(server, []).append(operation)
        else:
            key = done.value["key"]
            orders.setdefault((-1, key), []).append((done.value["version"], operation))
    stale: set[int] = set()
    for order in orders.values():
        order.sort(key=lambda each: each[0])
        highest: Operation | None = None
        for (_, earlier), (_, later) in pairwise(order):
            if highest is None or _token(earlier) > _token(highest):
                highest = earlier
            if _token(later) < _token(highest):
                _add(history, result, highest, later, stale)
    for writes in servers.values():
        _judge_lives(history, writes, result, stale)
    result.stats = {"accepted": sum(map(len, orders.values())), "refused": refused}
    return result


def _judge_lives(
    history: History, writes: list[Operation], result: CheckResult, stale: set[int]
) -> None:
    coming = sorted(writes, key=lambda each: each.done.time, reverse=True)
    highest: Operation | None = None
    for write in sorted(writes, key=lambda each: each.invoke.time):
        while coming and coming[-1].done.time < write.invoke.time:
            before = coming.pop()
            if highest is None or _token(before) > _token(highest):
                highest = before
        if highest is not None and _token(write) < _token(highest):
            _add(history, result, highest, write, stale)


def _token(operation: Operation) -> int:
    return int(operation.invoke.value["token"])


def _add(
    history: History, result: CheckResult, later: Operation, stale: Operation, known: set[int]
) -> None:
    """Report a stale write, once."""
    if stale.invoke.index in known:
        return
    known.add(stale.invoke.index)
    result.anomalies.append(
        anomaly_of(
            history,
            "stale-request",
            f"a write at {at(history, stale.invoke.time)} with the sequencer of hold "
            f"{_token(stale)} was accepted after one of the later hold {_token(later)}",
            later,
            stale,
        )
    )
