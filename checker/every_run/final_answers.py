"""Liveness of operations that do not wait for other clients: after healing, all are answered."""

from collections.abc import Callable
from typing import Any

import msgspec

from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import ASKED_AGAIN, STUCK_WAITER, healed_phase
from rumpus.checker.history import Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult

Question = tuple[str, bytes]
"""An operation's name and value."""


@check("final answers", finds=[STUCK_WAITER])
def check_final_answers(
    timeline: Timeline,
    most_tries: int,
    asked: Callable[[str, Any], bool] = lambda _f, _value: True,
    least: str = ASKED_AGAIN,
) -> CheckResult:
    """Judge the final phase: of each client's tries at a question, one must have been answered.

    A ``fail`` without an error is an answer, too. The questions are asked one after the other,
    each by all clients. So even if the phase was cut short, a client without an answer is stuck if
    it had used up its tries, or if the next question had begun.

    Args:
        timeline: the run.
        most_tries: how often a client asks each question at most.
        asked: whether an operation with this name and value is one of the questions. A client may
            be slow to begin its last operation of the load, which then is called in the final
            phase, and may be refused.
        least: what every client must have taken part in, in words; empty if another check says so.
    """
    history = timeline.history
    result = CheckResult(name="final answers")
    phase = healed_phase(history, result, least)
    if phase is None:
        return result
    tries: dict[tuple[int, Question], list[Operation]] = {}
    latest: Question | None = None
    for operation in phase.operations:
        call = operation.invoke
        if not asked(call.f, call.value):
            continue
        latest = (call.f, msgspec.json.encode(call.value))
        client = history.caller(call)
        tries.setdefault((client, latest), []).append(operation)
    phase.asked.observed = len({client for client, _ in tries})
    phase.was_cut_short()
    phase.hung(timeline, {function for _, (function, _) in tries})
    for (client, question), calls in sorted(tries.items()):
        tried = sum(call.completion is not None for call in calls)
        decided = phase.ended or question != latest or tried >= most_tries
        if decided and not any(_answered(call) for call in calls):
            what = f"got no answer to {question[0]} in {len(calls)} tries"
            phase.stuck(client, what, calls)
    return result


def _answered(call: Operation) -> bool:
    done = call.completion
    return done is not None and (done.type == "ok" or (done.type == "fail" and not done.error))
