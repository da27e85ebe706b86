"""Whether holders learn that they are asked to release (revocation).

A holder has missed a request if its ``work`` went on to its end without having heard of the
request, although for long enough before that the request was in its node, its client was connected,
and its process was running, without a fault of its own (a client that sends all the time does not
notice that nobody answers). Otherwise it is excused: because it lost the lock, was asked too late,
or lost its connection meanwhile.

A request has missed a holder if by the servers' logs that one owned from before it until after its
answer, and is not among those who were asked. A server that lags may not show who has just come.
"""

from collections.abc import Iterator

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.history import History, Op, Operation
from rumpus.checker.timeline.calm import connections, unbroken_since
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind, Requirement

MISSED_REVOCATION = Kind(
    "missed-revocation", "a holder was asked to release and never learned of it", timed=True
)

SHOWN_NS = 1_000_000_000
"""How long (ns) a node must have owned to be known to all servers, where no fault is in force."""

LEAST_LEARNED = 5
"""How many holders must have learned that they were asked for a run to mean anything."""


@check("revocations", finds=[MISSED_REVOCATION])
def check_revocations(timeline: Timeline, patience: int) -> CheckResult:
    """Judge requests to release.

    Operations: ``acquire`` ok {node}; ``revoke`` ok {asked: nodes whose owners were asked}; the
    holder's ``work`` ok {asked: whether it heard of it}. O(n log n).

    Args:
        timeline: the run.
        patience: nanoseconds that a connected holder may take to learn of a request.
    """
    history, words = timeline.history, timeline.words
    result = CheckResult(name="revocations")
    requests = _first_requests(history)
    connected = connections(history)
    frozen = timeline.pauses
    granted: dict[int, Op] = {}
    learned = 0
    for operation in history.operations():
        call, done = operation
        process = int(call.process)
        if call.f == words.acquire and done is not None and operation.outcome == "ok":
            granted[process] = done
        grant = granted.get(process)
        if call.f != words.work or operation.outcome != "ok" or done is None or grant is None:
            continue
        if (done.value or {}).get("asked"):
            learned += 1
            continue
        request = requests.get(grant.value["node"])
        client = history.client_of(process)
        since = unbroken_since(connected[client], done.time)
        if request is None or since is None:
            continue
        over = [end for start, end in frozen.get(client, ()) if start < done.time]
        over += [
            timeline.end_of(window)
            for window in timeline.faults
            if f"c{client}" in window.targets and window.begun < done.time
        ]
        since = max(since, request.time, call.time, *over)
        if done.time - since < patience:
            continue
        result.anomalies.append(_missed(timeline, client, request, grant, operation, since))
    result.anomalies.extend(_left_out(timeline, patience))
    result.stats = {"asked": len(requests), "learned": learned}
    result.requirements.append(
        Requirement("holders that learned that they were asked to let go", LEAST_LEARNED, learned)
    )
    return result


def _missed(
    timeline: Timeline, client: int, request: Op, grant: Op, work: Operation, since: int
) -> Anomaly:
    """A holder that could have learned of a request from ``since`` on, and never did."""
    history, done = timeline.history, work.done
    return Anomaly(
        kind="missed-revocation",
        description=(
            f"c{client} was asked to release the {timeline.words.thing} by "
            f"{at(history, request.time)} but had not learned of it at "
            f"{at(history, done.time)}, although it was connected for "
            f"the last {(done.time - since) / 1e9:.1f} s"
        ),
        ops=[grant.index, work.invoke.index, request.index, done.index],
        clients=sorted({client, history.caller(request)}),
        start=since,
        end=done.time,
        length_ms=(done.time - since) / 1e6,
    )


def _left_out(timeline: Timeline, patience: int) -> Iterator[Anomaly]:
    """Requests that did not ask a holder of another client."""
    history, server = timeline.history, timeline.servers
    if server is None:
        return
    clients = history.clients_of_sessions()
    windows = [(each.begun, timeline.end_of(each)) for each in timeline.faults]
    for operation, done in history.answered("revoke"):
        call = operation.invoke
        asked, caller = set(done.value["asked"]), history.caller(call)
        for owner in server.owners:
            client = clients.get(owner.session)
            if client in (None, caller) or owner.path in asked:
                continue
            calm = all(end < owner.start or begun > done.time for begun, end in windows)
            shown = owner.start + (SHOWN_NS if calm else patience)
            if shown > call.time or (owner.end is not None and owner.end < done.time + SHOWN_NS):
                continue
            yield Anomaly(
                kind="missed-revocation",
                description=(
                    f"c{caller} asked all holders to release the {timeline.words.thing} by "
                    f"{at(history, done.time)}, but not c{client}, whose node {owner.path} had "
                    f"owned it since {at(history, owner.start)}"
                ),
                ops=[call.index, done.index],
                clients=sorted({caller, client}),
                start=call.time,
                end=done.time,
            )


def _first_requests(history: History) -> dict[str, Op]:
    """Node -> the first record that its owner was asked: by then the request is in the node."""
    found: dict[str, Op] = {}
    for _, done in history.answered("revoke"):
        for node in done.value["asked"]:
            known = found.get(node)
            if known is None or done.time < known.time:
                found[node] = done
    return found
