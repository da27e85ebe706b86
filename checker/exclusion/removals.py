"""Which client removed the contenders' nodes: no client may delete a live holder's node.

A node in the line may be deleted by its own session, or go with it. Another client may delete it
only if the process that made it is dead: it was killed, or it had declared itself dead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth, ZnodeLife
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

FREED_LIVE_HOLDER = Kind(
    "freed-live-holder", "a lock was taken from a holder that was still entitled to it"
)
FALSE_REMOVAL = Kind(
    "false-removal", "a client was told that it had removed a node, but it had not", logs=True
)


@dataclass(frozen=True)
class Removal:
    """A node that a session other than its owner deleted, at ``time`` (nanoseconds).

    Both sessions may belong to one client, which may delete in its next session what it made in
    the one before. The history tells whose they are (``judge_removals``).
    """

    life: ZnodeLife
    time: int


def removals(truth: ServerTruth, clock: WallClock, path: str, mark: str = "") -> list[Removal]:
    """The nodes of a line that were deleted by sessions that did not own them.

    Args:
        truth: what was committed.
        clock: converts the servers' times to the run's clock.
        path: the parent of the contenders' nodes.
        mark: what the names of these nodes contain.
    """
    return [
        Removal(life, clock.monotonic(life.deleted_ms))
        for life in truth.znodes(path)
        if life.owner is not None
        and mark in life.path.rpartition("/")[2]
        and life.how in ("deleted", "multi")
        and life.deleted_by != life.owner
        and life.deleted_ms is not None
    ]


def ends_of_processes(history: History) -> dict[str, int]:
    """Session -> when (ns) the process that had it ended."""
    having: dict[int, set[str]] = {}
    ends: dict[str, int] = {}
    for op in history.events("session"):
        client = op.value["client"]
        if op.f == "exited":
            for session in having.pop(client, ()):
                ends[session] = op.time
        elif op.value.get("session"):
            having.setdefault(client, set()).add(op.value["session"])
    return ends


def judge_removals(
    history: History, found: Sequence[Removal], declared: Mapping[int, int]
) -> CheckResult:
    """No client removed the node of another client's process that lived.

    Args:
        history: the run.
        found: what was removed by others, see ``removals``.
        declared: czxid of a node -> when (nanoseconds) its maker began to declare itself dead.
    """
    result = CheckResult(name="removals")
    clients = history.clients_of_sessions()
    own = 0
    killed = ends_of_processes(history)
    rightful = 0
    for removal in found:
        life, time = removal.life, removal.time + CLOCK_SLACK_NS
        assert life.owner is not None, "only ephemeral nodes are looked at"
        if declared.get(life.czxid, time) < time or killed.get(life.owner, time) < time:
            rightful += 1
            continue
        owner, remover = clients.get(life.owner), clients.get(life.deleted_by or "")
        if owner is not None and owner == remover:
            own += 1
            continue
        if owner is None or remover is None:
            result.unknown.append(
                f"{life.path} of session {life.owner} was deleted by session {life.deleted_by}, "
                "but the history does not tell which clients had these sessions"
            )
            continue
        result.anomalies.append(
            Anomaly(
                kind="freed-live-holder",
                description=(
                    f"{life.path} of c{owner} (session {life.owner}) was deleted by c{remover} "
                    f"(session {life.deleted_by}) at {at(history, removal.time)}, "
                    "although the process that had created it was alive"
                ),
                clients=sorted({owner, remover}),
                start=removal.time,
                end=removal.time,
            )
        )
    result.stats = {"removed by others": len(found) - own, "of dead processes": rightful}
    return result


@check("told removals", finds=[FALSE_REMOVAL])
def check_told_removals(timeline: Timeline, free: str) -> CheckResult | None:
    """A client that was told that it removed a node did so by the logs: else ``false-removal``.

    Args:
        timeline: the run.
        free: the operation whose ok has ``node`` and says whether it was ``removed``.
    """
    if timeline.logs is None or timeline.line is None:
        return None
    history, (truth, clock), path = timeline.history, timeline.logs, timeline.line.path
    result = CheckResult(name="told removals")
    clients = history.clients_of_sessions()
    removed: dict[tuple[str, int | None], list[int]] = {}
    for life in truth.znodes(path):
        if life.how in ("deleted", "multi") and life.deleted_ms is not None:
            remover = (life.path, clients.get(life.deleted_by or ""))
            removed.setdefault(remover, []).append(clock.monotonic(life.deleted_ms))
    contested = truth.contested()
    told = 0
    for operation, done in history.answered(free):
        call = operation.invoke
        if not done.value["removed"]:
            continue
        told += 1
        node, client = done.value["node"], history.caller(call)
        first, last = call.time - CLOCK_SLACK_NS, done.time + CLOCK_SLACK_NS
        if any(first <= time <= last for time in removed.get((node, client), ())):
            continue
        what = f"c{client} was told that it had removed {node}, but it had not"
        if truth.reasons or node in contested:
            result.unknown.append(f"{what}; the servers' logs do not prove it")
            continue
        result.anomalies.append(anomaly_of(history, "false-removal", what, operation))
    result.stats = {"told of": told}
    return result
