"""Liveness, asked once nothing is in the way: everybody proceeds, nothing is left behind.

The final phase begins (record ``control``/``phase`` with value ``final``) when every fault has
been healed, verified, and a quorum serves. Then every client must be granted once more within
the phase's bound, and after that the line must be empty.
"""

from rumpus.checker.every_run.final_phase import judged_phase
from rumpus.checker.history import History, Op
from rumpus.checker.holds import Words
from rumpus.checker.verdict import Anomaly, CheckResult


def check_liveness(history: History, words: Words, *, nobody: str = "deadlock") -> CheckResult:
    """Judge the final phase.

    Args:
        history: the run.
        words: names of the operations.
        nobody: what it is called when no client at all proceeds: ``deadlock`` for locks,
            ``leaderless`` for elections.
    """
    result = CheckResult(name="liveness")
    done, final = judged_phase(history, result, "clients asked again once every fault was healed")
    if final is None:
        return result
    attempts = [
        operation
        for operation in history.operations()
        if operation.invoke.f == words.acquire and operation.invoke.time >= final.time
    ]
    asked = {history.client_of(int(attempt.invoke.process)) for attempt in attempts}
    granted = {
        history.client_of(int(attempt.invoke.process))
        for attempt in attempts
        if attempt.outcome == "ok"
    }
    done.observed = len(asked)
    stuck = asked - granted
    ended = history.events("control", "phase-end")
    if stuck and not ended:
        result.unknown.append("the final phase was cut short")
        return result
    kind = nobody if stuck == asked else "stuck-waiter"
    for client in sorted(stuck):
        tries = [a for a in attempts if history.client_of(int(a.invoke.process)) == client]
        waited = ((tries[-1].completion or tries[-1].invoke).time - tries[0].invoke.time) / 1e9
        others = "nor could anybody else" if stuck == asked else "while others could"
        result.anomalies.append(
            Anomaly(
                kind=kind,
                description=(
                    f"c{client} could not get the {words.thing} in {waited:.1f} s with every "
                    f"fault healed, {others} ({tries[-1].outcome}: "
                    f"{(tries[-1].completion or tries[-1].invoke).error or 'no answer'})"
                ),
                ops=[index for attempt in tries for index in attempt.indices],
                clients=[client],
                start=tries[0].invoke.time,
                end=(tries[-1].completion or tries[-1].invoke).time,
            )
        )
    _left_behind(history, final, result)
    result.stats = {"final_clients": len(asked), "final_granted": len(granted)}
    return result


def _left_behind(history: History, final: Op, result: CheckResult) -> None:
    """Nodes that the final look at the line found although no client stood in it."""
    looks = [
        op
        for operation in history.operations()
        if operation.invoke.f == "inspect"
        and operation.invoke.time >= final.time
        and (op := operation.completion) is not None
    ]
    seen = [op for op in looks if op.type == "ok"]
    if not seen:
        result.unknown.append(
            "nobody could look whether nodes were left behind"
            + (f" ({looks[-1].error})" if looks else "")
        )
        return
    for node in seen[-1].value["nodes"]:
        owner = node["owner"]
        whose = f"owned by the live session {owner}" if owner else "which is not ephemeral"
        result.anomalies.append(
            Anomaly(
                kind="orphan-node",
                description=(
                    f"{node['path']}, {whose}, was still there after every client had let go "
                    f"and every earlier session had had time to expire"
                ),
                ops=[seen[-1].index],
                start=final.time,
                end=seen[-1].time,
            )
        )
