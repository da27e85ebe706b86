"""Transactions that write one value into several nodes: a read of all must see one value."""

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import check
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

TORN_MULTI = Kind("torn-multi", "one part of a transaction was seen without the rest")


@check("torn transactions", finds=[TORN_MULTI])
def check_torn(timeline: Timeline) -> CheckResult:
    """Look for reads {values: {node: value}} whose values differ."""
    history = timeline.history
    result = CheckResult(name="torn transactions")
    reads = 0
    for operation, done in history.answered("read"):
        reads += 1
        values = done.value["values"]
        if len(set(values.values())) <= 1:
            continue
        seen = ", ".join(f"{name} held {value!r}" for name, value in sorted(values.items()))
        result.anomalies.append(
            anomaly_of(
                history,
                "torn-multi",
                f"at one moment {seen}, although every transaction sets all to one value",
                operation,
            )
        )
    result.stats = {"reads": reads}
    return result
