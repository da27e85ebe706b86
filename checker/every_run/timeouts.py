"""Whether calls with a timeout ended neither too late nor too early.

Too late: a call with a ``timeout`` (seconds, in its value) may go on for that long and a grace
more: for answers on their way, and for removing its nodes from the servers. A client that is frozen
or cut off cannot keep to that. So what counts is the longest calm stretch of the overrun: after
the timeout, while the client ran, it was connected, the ensemble had a leader, and no fault was in
force on the servers or on this client. A stretch longer than the grace makes the call overdue.
Faults on other clients are no excuse: what the call waits for may not come, but it can give up.

A call without a timeout may take as long as something is in its way. It is too late if the harness
had to kill its client to end it (``NEVER_RETURNED``) and ``ENDLESS_NS`` of it were calm.

Too early: a call that ended with the error ``TIMED_OUT`` must have lasted as long as its timeout.
No fault excuses it if it did not, for no fault makes time pass faster.
"""

from collections.abc import Iterator, Mapping, Sequence

from rumpus.checker.anomalies import anomaly_of, at, seconds_waited
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.calm import Span, longest_calm
from rumpus.checker.timeline.holds import patience
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

EARLY_TIMEOUT = Kind(
    "early-timeout", "a call reported that its timeout had passed before it had", lesser=True
)
OVERDUE_CALL = Kind(
    "overdue-call",
    "a call went on after its timeout and grace although nothing delayed it",
    timed=True,
    lesser=True,
)

USUAL_GRACE_S = 2.0
"""By how much recipes may run over their timeouts unless they are told otherwise, in seconds."""

MARGIN_NS = 500_000_000
"""How much a calm stretch may exceed the recipe's grace before the call is reported."""

TIMED_OUT = "timed out"
"""The error of an operation that gave up because its timeout was over, and for no other reason."""

NEVER_RETURNED = "the client was killed: its call had not returned"
"""How the error of a call begins that the harness has given up."""

ENDLESS_NS = 20_000_000_000
"""How long a call without a timeout may go on without anything in its way."""

EARLY = 0.9
"""What part of its timeout a call must have lasted: a client's clock may run fast."""

EARLY_NS = 100_000_000
"""How much sooner than that it may end: with a timeout this short a recipe may try just once."""


@check("timeouts", finds=[EARLY_TIMEOUT, OVERDUE_CALL])
def check_timeouts(timeline: Timeline, grace: float = USUAL_GRACE_S) -> CheckResult:
    """Judge every call whose value has a ``timeout``, and every endless one; see the module.

    Args:
        timeline: the run.
        grace: seconds by which the recipe may run over a timeout.

    Cost: O(n log n), and as much again for each disturbance that an overrun meets.
    """
    history = timeline.history
    result = CheckResult(name="timeouts")
    spans = timeline.disturbances
    longest = 0
    timed = 0
    for operation in history.operations():
        call, done = operation
        timeout = patience(call)
        if timeout is None:
            if gave_up(operation):
                result.anomalies += _endless(history, operation, spans)
            continue
        timed += 1
        due = call.time + round(timeout * 1e9)
        end = done.time if done is not None else history.end
        client = history.caller(call)
        if end <= due:
            took = end - call.time
            if (
                done is not None
                and done.error == TIMED_OUT
                and took < EARLY * timeout * 1e9 - EARLY_NS
            ):
                result.anomalies.append(_early(history, operation, timeout))
            continue
        start, stop = longest_calm(spans.get(client, []), due, end)
        longest = max(longest, stop - start)
        if stop - start > grace * 1e9 + MARGIN_NS:
            what = (
                f"c{client} called {call.f} with a timeout of {timeout:g} s at "
                f"{at(history, call.time)}, but it went on for {(end - call.time) / 1e9:.1f} s"
            )
            calm = (start, stop)
            result.anomalies.append(_overdue(history, operation, what, " of the overrun", calm))
    result.stats = {"calls_with_a_timeout": timed, "longest_calm_overrun_ms": longest / 1e6}
    return result


def gave_up(operation: Operation) -> bool:
    """Whether the harness has given a call up, and killed its client."""
    done = operation.completion
    return done is not None and (done.error or "").startswith(NEVER_RETURNED)


def _endless(
    history: History, operation: Operation, spans: Mapping[int, Sequence[Span]]
) -> Iterator[Anomaly]:
    client = history.caller(operation)
    done = operation.done
    called = operation.invoke.time
    start, stop = longest_calm(spans.get(client, []), called, done.time)
    if stop - start > ENDLESS_NS:
        what = f"c{client}'s {operation.invoke.f}, called at {at(history, called)}, did not return"
        yield _overdue(history, operation, what, "", (start, stop))


def _overdue(history: History, operation: Operation, what: str, of: str, calm: Span) -> Anomaly:
    seconds = (calm[1] - calm[0]) / 1e9
    return Anomaly(
        kind="overdue-call",
        description=(
            f"{what}; for {seconds:.1f} s{of} its process ran, it was connected, and there was no "
            "fault"
        ),
        ops=operation.indices,
        clients=[history.caller(operation)],
        start=calm[0],
        end=calm[1],
        length_ms=(calm[1] - calm[0]) / 1e6,
    )


def _early(history: History, operation: Operation, timeout: float) -> Anomaly:
    return anomaly_of(
        history,
        "early-timeout",
        f"c{history.caller(operation)} called {operation.invoke.f} with a timeout of {timeout:g} "
        f"s, but it gave up after {seconds_waited(operation):.2f} s",
        operation,
    )
