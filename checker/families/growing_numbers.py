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
    answered = list(history.answered(f))
    by_return = sorted(answered, key=lambda each: each[1].time)
    at = 0
    highest = None
    for later, done in answered:  # in order of their calls
        while at < len(by_return) and by_return[at][1].time < later.invoke.time:
            if highest is None or by_return[at][1].value > highest[1].value:
                highest = by_return[at]
            at += 1
        if highest is None or done.value >= highest[1].value:
            continue
        result.anomalies.append(
            anomaly_of(
                history,
                "sequence-regression",
                f"{done.value} was given out to process {done.process} "
                f"after process {highest[1].process} had got {highest[1].value}",
                highest[0],
                later,
            )
        )
    result.stats = {"numbers": len(answered)}
    return result
