"""Waits for a countdown latch: early if they return before it opens, stuck if they stay after.

Each client counts once on a latch, however often it calls ``count_down``. A call may take effect as
soon as it is made, whether it returns or not, unless it failed. So a wait is early if it returned
when fewer clients than the latch's count had called. Events at the same moment are concurrent.

Once that many clients have had an acknowledgement, the latch is open for good. A wait that then
goes on for longer than ``calm`` while nothing disturbs its client (``disturbances``) is stuck, even
if it returns ok later: a waiter that missed its wake-up looks again when its timeout is over.
O(n log n), and the cost of ``longest_calm`` for each wait that lasted longer than ``calm``.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import STUCK_WAITER
from rumpus.checker.timeline.calm import longest_calm
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

EARLY_ENTRY = Kind("early-entry", "a client passed a barrier that was not open yet")


@check(
    "latches",
    finds=[EARLY_ENTRY, STUCK_WAITER],
    least=[Least(5, "held_up", "waiters that were held up and passed")],
)
def check_entries(timeline: Timeline, calm: float = 2.0) -> CheckResult:
    """Judge every wait: ``early-entry`` and ``stuck-waiter``.

    Its stats have ``held_up``: how many returned that had begun when the latch was still closed.

    Args:
        timeline: the run.
        calm: seconds in which a wait is over once its latch is open and nothing is in its way.
    """
    history = timeline.history
    result = CheckResult(name="latches", stats={"held_up": 0})
    calls: dict[int, dict[int, int]] = defaultdict(dict)
    answers: dict[int, dict[int, int]] = defaultdict(dict)
    waits = [each for each in history.operations() if each.invoke.f == "wait"]
    for each in history.operations():
        if each.invoke.f == "count_down" and each.outcome != "fail":
            key, client = each.invoke.value["key"], history.caller(each)
            calls[key].setdefault(client, each.invoke.time)
            if each.outcome == "ok" and each.completion is not None:
                answers[key].setdefault(client, each.completion.time)
    called = {key: sorted(times.values()) for key, times in calls.items()}
    answered = {key: sorted(times.values()) for key, times in answers.items()}
    spans = timeline.disturbances
    for each in waits:
        key, count = each.invoke.value["key"], each.invoke.value["count"]
        since, until = each.invoke.time, each.completion.time if each.completion else history.end
        opened = [since, *answered.get(key, [])]
        if each.outcome == "ok":
            before = bisect_right(called.get(key, []), until)
            if before < count:
                told = f"passed latch {key} when only {before} of {count} had counted it down"
                told = f"c{history.caller(each)} {told}"
                result.anomalies.append(anomaly_of(history, "early-entry", told, each))
            elif bisect_left(called.get(key, []), since) < count:
                result.stats["held_up"] += 1
        if len(opened) > count and until - opened[count] > calm * 1e9:
            start, end = longest_calm(
                spans.get(history.caller(each), []), max(since, opened[count]), until
            )
            if end - start > calm * 1e9:
                told = f"still waited for latch {key} {(end - start) / 1e9:.1f} s after {count} had"
                told = (
                    f"c{history.caller(each)} {told} counted it down, although nothing prevented it"
                )
                result.anomalies.append(anomaly_of(history, "stuck-waiter", told, each))
    return result
