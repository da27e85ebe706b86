"""Numbers that only grow: a call made after another's return gets a larger number."""

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

SEQUENCE_REGRESSION = Kind("sequence-regression", "a later sequence number is not larger")


@check("growth", finds=[SEQUENCE_REGRESSION])
def check_growth(timeline: Timeline, f: str) -> CheckResult:
    """Compare the numbers that an operation returned with the order of its calls in real time.

    A number that was returned before another call must be smaller than that call's. Calls that
    overlap may be in any order. Equal numbers are judged by another check.

    Cost: O(n log n).
    """
    history = timeline.history
    result = CheckResult(name="growth")
    answered = [
        operation
        for operation in history.operations()
        if operation.invoke.f == f and operation.completion and operation.completion.type == "ok"
    ]
    by_return = sorted(answered, key=lambda each: each.completion.time)  # type: ignore[union-attr] # answered
    at = 0
    highest = None
    for later in answered:  # in order of their calls
        while at < len(by_return) and by_return[at].completion.time < later.invoke.time:  # type: ignore[union-attr] # answered
            if highest is None or by_return[at].completion.value > highest.completion.value:  # type: ignore[union-attr] # answered
                highest = by_return[at]
            at += 1
        assert later.completion is not None
        if highest is None or later.completion.value >= highest.completion.value:  # type: ignore[union-attr] # answered
            continue
        assert highest.completion is not None
        result.anomalies.append(
            anomaly_of(
                history,
                "sequence-regression",
                f"{later.completion.value} was given out to process {later.invoke.process} "
                f"after process {highest.invoke.process} had got {highest.completion.value}",
                highest,
                later,
            )
        )
    result.stats = {"numbers": len(answered)}
    return result
