"""Liveness in the final phase: every client is granted the lock, and no node is left behind.

The final phase begins (record ``control``/``phase`` with value ``final``) when every fault has
been healed, which was verified, and a quorum serves. Then every client must be granted once more
before the phase ends, and after that the line (the contenders' nodes) must be empty.
"""

from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import ASKED_AGAIN, STUCK_WAITER, FinalPhase, healed_phase
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

DEADLOCK = Kind("deadlock", "no client could proceed although nothing prevented it")
LEADERLESS = Kind("leaderless", "no leader could be elected although nothing prevented it")
ORPHAN_NODE = Kind("orphan-node", "a node was left behind that belongs to no operation in progress")


@check("liveness", finds=[STUCK_WAITER, DEADLOCK, LEADERLESS, ORPHAN_NODE])
def check_liveness(timeline: Timeline, *, nobody: str = "deadlock") -> CheckResult:
    """Judge the final phase, and calls of the whole run that never returned.

    Args:
        timeline: the run.
        nobody: the kind of anomaly if no client at all is granted: ``deadlock`` for locks,
            ``leaderless`` for elections.
    """
    history, words = timeline.history, timeline.words
    result = CheckResult(name="liveness")
    phase = healed_phase(history, result, ASKED_AGAIN)
    if phase is None:
        return result
    tries = phase.tries(words.acquire)
    stuck = [c for c, calls in tries.items() if not any(call.outcome == "ok" for call in calls)]
    phase.asked.observed = len(tries)
    if stuck and phase.was_cut_short():
        return result
    everybody = len(stuck) == len(tries)
    for client in stuck:
        others = "nor could any other client" if everybody else "although others could"
        what = f"could not get the {words.thing}, {others}"
        phase.stuck(client, what, tries[client], nobody if everybody else "")
    phase.hung(timeline, {words.acquire, words.release})
    _left_behind(phase)
    result.stats = {"final_clients": len(tries), "final_granted": len(tries) - len(stuck)}
    return result


def _left_behind(phase: FinalPhase) -> None:
    """Nodes that the last ``inspect`` found in the line, although no client contended any more."""
    looks = [
        op
        for operation in phase.operations
        if operation.invoke.f == "inspect" and (op := operation.completion) is not None
    ]
    seen = [op for op in looks if op.type == "ok"]
    if not seen:
        phase.result.unknown.append(
            "no client could look whether nodes were left behind"
            + (f" ({looks[-1].error})" if looks else "")
        )
        return
    for node in seen[-1].value["nodes"]:
        owner = node["owner"]
        whose = f"owned by the live session {owner}" if owner else "which is not ephemeral"
        phase.result.anomalies.append(
            Anomaly(
                kind="orphan-node",
                description=(
                    f"{node['path']}, {whose}, still existed after every client had released "
                    f"and every earlier session had had time to expire"
                ),
                ops=[seen[-1].index],
                start=phase.began,
                end=seen[-1].time,
            )
        )
