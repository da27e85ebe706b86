"""Counters whose additions return the total right after them.

If all amounts added to a counter have one sign, the total only grows (or only shrinks). An addition
that returned ``total`` took the counter from ``total - amount`` to ``total``. No two acknowledged
additions may overlap in these steps. And an operation, be it a read or an addition, that returned
before another was called must not lie beyond it. Counters to which amounts of both signs are added
are left to the model, and so are additions that told no total. O(n log n).
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

MISCOUNT = Kind("miscount", "the count contradicts the acknowledged additions")


class _Step(NamedTuple):
    """From where to where an operation took the counter, both negated if it shrinks."""

    low: int
    high: int
    operation: Operation

    @property
    def returned(self) -> int:
        return self.operation.done.time


@check("totals", finds=[MISCOUNT])
def check_totals(timeline: Timeline, *, add: str, read: str) -> CheckResult:
    """Judge the totals that acknowledged additions returned: ``miscount``.

    Args:
        timeline: the run.
        add: the operation {key, value: amount} -> {key, value: total}.
        read: the operation {key} -> {key, value: total}.
    """
    history = timeline.history
    result = CheckResult(name="totals")
    told: dict[Hashable, list[Operation]] = defaultdict(list)
    signs: dict[Hashable, set[int]] = defaultdict(set)
    for operation in history.operations():
        call = operation.invoke
        if call.f == add and call.value["value"]:
            signs[call.value["key"]].add(1 if call.value["value"] > 0 else -1)
        completion = operation.completion
        if (
            call.f in (add, read)
            and operation.outcome == "ok"
            and completion is not None
            and completion.value["value"] is not None
        ):
            told[call.value["key"]].append(operation)
    judged = 0
    for key, operations in told.items():
        if len(signs[key]) != 1:
            continue
        (sign,) = signs[key]
        steps = [_step(operation, sign, add) for operation in operations]
        judged += sum(operation.invoke.f == add for operation in operations)
        pair = _overlapping(steps) or _going_back(steps)
        if pair is not None:
            result.anomalies.append(_miscount(history, key, *pair))
    result.stats = {"additions": judged}
    return result


def _step(operation: Operation, sign: int, add: str) -> _Step:
    total = sign * operation.done.value["value"]
    amount = sign * operation.invoke.value["value"] if operation.invoke.f == add else 0
    return _Step(total - amount, total, operation)


def _overlapping(steps: Sequence[_Step]) -> tuple[_Step, _Step] | None:
    """Two additions whose steps overlap."""
    ways = sorted((step for step in steps if step.low < step.high), key=lambda step: step.low)
    return next(((one, two) for one, two in pairwise(ways) if two.low < one.high), None)


def _going_back(steps: Sequence[_Step]) -> tuple[_Step, _Step] | None:
    """Two operations, the first of which returned before the second's call, but lies beyond it."""
    by_return = iter(sorted(steps, key=lambda step: step.returned))
    coming = next(by_return, None)
    highest: _Step | None = None
    for step in sorted(steps, key=lambda step: step.operation.invoke.time):
        while coming is not None and coming.returned < step.operation.invoke.time:
            if highest is None or coming.high > highest.high:
                highest = coming
            coming = next(by_return, None)
        if highest is not None and step.low < highest.high:
            return highest, step
    return None


def _miscount(history: History, key: Hashable, one: _Step, two: _Step) -> Anomaly:
    return anomaly_of(
        history,
        "miscount",
        f"counter {key}: {_words(history, one)} and {_words(history, two)}",
        one.operation,
        two.operation,
    )


def _words(history: History, step: _Step) -> str:
    call, done = step.operation.invoke, step.operation.done
    value = done.value["value"]
    what = f"read {value}" if step.low == step.high else f"added {call.value['value']} to {value}"
    since, until = at(history, call.time), at(history, done.time)
    return f"c{_client(history, step)} {what} between {since} and {until}"


def _client(history: History, step: _Step) -> int:
    return history.caller(step.operation)
