"""Liveness of clients that wait for others: once what they wait for has come, all proceed.

Judged in the final phase (``checker.every_run.liveness``), when every fault has been healed and a
quorum serves. Then a client may also look for waiters left over: calls of its own, made before
the final phase and given up by the worker, that still sleep though what they wait for has come.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import STUCK_WAITER, FinalPhase, healed_phase
from rumpus.checker.history import Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.wording import counted


@check("waiters", finds=[STUCK_WAITER])
def check_waiters(
    timeline: Timeline,
    functions: Sequence[str],
    *,
    each: Mapping[str, float] = MappingProxyType({}),
    opened: str = "",
    left_over: str = "",
) -> CheckResult:
    """Judge the final phase.

    Args:
        timeline: the run.
        functions: the operations that wait, each of which every client must have completed once.
        each: operation -> seconds; of these each call with such a timeout, or a longer one, must
            come to an end: an ``info`` is a client that is stuck, even if another call ended.
        opened: the operation that brings what they wait for; without an ok of it in the final
            phase the result is unknown. Empty: no such operation is needed.
        left_over: the operation that looks for waiters left over; its result has ``waiting``, how
            many it found. Empty: there is none.
    """
    history = timeline.history
    result = CheckResult(name="waiters")
    phase = healed_phase(history, result, "clients asked to proceed once every fault was healed")
    if phase is None or phase.was_cut_short():
        return result
    final = phase.operations
    if opened and not any(call.invoke.f == opened and call.outcome == "ok" for call in final):
        result.unknown.append(f"no client could {opened} in the final phase")
        return result
    for function in functions:
        tries = phase.tries(function)
        if function == functions[0]:
            phase.asked.observed = len(tries)
        for client, calls in tries.items():
            in_vain = calls
            if any(call.outcome == "ok" for call in calls):
                in_vain = [c for c in calls if c.outcome == "info" and _lasts(c, each)]
            if in_vain:
                phase.stuck(client, f"could not {function}, although nothing prevented it", in_vain)
    for call in final:
        if call.invoke.f == left_over and call.outcome == "ok":
            result.anomalies += _left_over(phase, call)
    result.stats = {"final clients": phase.asked.observed, "stuck": len(result.anomalies)}
    return result


def _lasts(call: Operation, least: Mapping[str, float]) -> bool:
    timeout = (call.invoke.value or {}).get("timeout")
    return timeout is not None and timeout >= least.get(call.invoke.f, math.inf)


def _left_over(phase: FinalPhase, call: Operation) -> list[Anomaly]:
    done = call.done
    waiting = done.value["waiting"]
    if not waiting:
        return []
    client = phase.history.caller(call)
    return [
        Anomaly(
            kind="stuck-waiter",
            description=(
                f"{counted(waiting, 'call')} that c{client} began during the load still waited "
                f"{(done.time - phase.began) / 1e9:.1f} s after every fault was healed, although "
                "what they waited for had happened"
            ),
            ops=call.indices,
            clients=[client],
            start=phase.began,
            end=done.time,
        )
    ]
