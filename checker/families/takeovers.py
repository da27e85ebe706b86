"""Whether a log's new owners continue where their predecessors ended, and these write no more.

Operations: ``own``, ok: {epoch, at}: the caller became the owner, with a higher epoch than every
owner before, and continues at that position; ``append`` as in ``checker.families.replication``.
"""

from collections.abc import Sequence

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import Least, check
from rumpus.checker.exclusion.mutual_exclusion import STALE_ACTION
from rumpus.checker.families.replication import LOST_WRITE, Write, writes
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

LATE_APPEND = Kind(
    "late-append", "an append of a former owner was acknowledged after its successor took over"
)


@check(
    "takeovers",
    finds=[LATE_APPEND, LOST_WRITE, STALE_ACTION],
    least=[Least(5, "refused", "late appends that were refused")],
)
def check_takeovers(timeline: Timeline) -> CheckResult:
    """Judge every ``own`` that was ok; near-linear.

    - ``late-append``: an append of a former owner was called after a later owner's ``own`` had
      returned, and was acknowledged.
    - ``lost-write``: an append was acknowledged before a later owner called ``own``, and that owner
      continued at its position or before it.
    - ``stale-action``: an append was acknowledged at a position behind one of a later owner.

    The stat ``refused`` counts appends of former owners that failed after the takeover: those that
    the protection has stopped. ``unsure`` counts those whose outcome stayed unknown.
    """
    history = timeline.history
    result = CheckResult(name="takeovers")
    owners = [operation for operation, _ in history.answered("own")]
    every = writes(history)
    acknowledged = [write for write in every if write.outcome == "ok"]
    _late(history, every, owners, result)
    _continued(history, acknowledged, owners, result)
    _interleaved(history, acknowledged, result)
    result.stats["takeovers"] = len(owners)
    return result


def _late(
    history: History, every: Sequence[Write], owners: Sequence[Operation], result: CheckResult
) -> None:
    """Appends called after a later owner's takeover, by merging calls into returns."""
    epochs = _epochs_of_callers(history)
    returned = sorted(owners, key=lambda own: own.done.time)
    latest: Operation | None = None
    following = 0
    outcomes = dict.fromkeys(("ok", "fail", "info"), 0)
    for write in every:  # in the order of their calls
        while following < len(returned) and returned[following].done.time < write.called:
            own = returned[following]
            if latest is None or own.done.value["epoch"] > latest.done.value["epoch"]:
                latest = own
            following += 1
        epoch = epochs.get(write.operation.invoke.index) if write.epoch is None else write.epoch
        if latest is None or epoch is None or epoch >= latest.done.value["epoch"]:
            continue
        outcomes[write.outcome] += 1
        if write.outcome == "ok":
            result.anomalies.append(
                anomaly_of(
                    history,
                    "late-append",
                    f"{write.value} was acknowledged in epoch {epoch}, although epoch "
                    f"{latest.done.value['epoch']} had begun before it was called",
                    latest,
                    write.operation,
                )
            )
    result.stats["refused"] = outcomes["fail"]
    result.stats["unsure"] = outcomes["info"]
    result.stats["late"] = outcomes["ok"]


def _epochs_of_callers(history: History) -> dict[int, int]:
    """Index of an append's call -> the epoch in which its client writes, if that is known."""
    epochs: dict[int, int] = {}
    found: dict[int, int] = {}
    for op in history:
        if op.process == "session" and op.f in ("closed", "exited"):
            epochs.pop(op.value["client"], None)  # it goes on as one that never was the owner
        if not isinstance(op.process, int):
            continue
        client = history.client_of(op.process)
        if op.f == "own" and op.type == "ok":
            epochs[client] = op.value["epoch"]
        elif op.f == "own" and op.type == "info":
            epochs.pop(client, None)  # as which owner it goes on is not known
        elif op.f == "append" and op.type == "invoke" and client in epochs:
            found[op.index] = epochs[client]
    return found


def _continued(
    history: History,
    acknowledged: Sequence[Write],
    owners: Sequence[Operation],
    result: CheckResult,
) -> None:
    """Where each owner continued, against the furthest append acknowledged before it called."""
    returned = sorted(acknowledged, key=lambda write: write.returned or 0)
    furthest: Write | None = None
    following = 0
    for own in owners:  # in the order of their calls
        while following < len(returned) and (returned[following].returned or 0) < own.invoke.time:
            write = returned[following]
            if furthest is None or (write.at or 0) > (furthest.at or 0):
                furthest = write
            following += 1
        value = own.done.value
        if furthest is not None and (furthest.at or 0) >= value["at"]:
            result.anomalies.append(
                anomaly_of(
                    history,
                    "lost-write",
                    f"epoch {value['epoch']} began at position {value['at']}, although "
                    f"{furthest.value} had been acknowledged at position {furthest.at}",
                    furthest.operation,
                    own,
                )
            )


def _interleaved(history: History, acknowledged: Sequence[Write], result: CheckResult) -> None:
    """Positions in order: epochs may only grow."""
    latest: Write | None = None
    for write in sorted(acknowledged, key=lambda write: write.at or 0):
        if latest is not None and (write.epoch or 0) < (latest.epoch or 0):
            result.anomalies.append(
                anomaly_of(
                    history,
                    "stale-action",
                    f"{write.value} of epoch {write.epoch} is at position {write.at}, behind "
                    f"{latest.value} of epoch {latest.epoch}",
                    latest.operation,
                    write.operation,
                )
            )
        else:
            latest = write
