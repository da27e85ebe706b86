"""The lock-delay: nobody is granted the lock for a while after a holder has failed.

The servers' logs show that a holder failed: its node went with its session, and was not deleted by
its client. After a release no client has to wait. That is judged in the final phase, where no fault
can delay a grant.

A holder's successors have younger nodes. Which are younger is told by tokens, which are czxids:
sequence numbers begin anew when the parent is deleted and created again.
"""

from collections.abc import Sequence
from itertools import pairwise

from rumpus.checker.anomalies import at
from rumpus.checker.check import check
from rumpus.checker.every_run.final_phase import STUCK_WAITER
from rumpus.checker.history import History, final_phase
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

EARLY_GRANT = Kind(
    "early-grant", "a grant came before the lock-delay after a failed holder was over", logs=True
)


@check("lock-delay", finds=[EARLY_GRANT, STUCK_WAITER])
def check_lock_delay(timeline: Timeline, below: str | None = None) -> CheckResult | None:
    """Judge grants after failures, and those after releases, of a recipe that promises a delay.

    Args:
        timeline: the run.
        below: the znode below which the contenders' znodes are; None: below the run's.

    A holder that asked for another delay tells it with its grant (``delay``, in seconds).
    """
    delay = timeline.promises.lock_delay
    if not delay:
        return None
    history, holds = timeline.history, timeline.holds
    path = timeline.path if below is None else below
    result = CheckResult(name="lock-delay")
    length = int(delay * 1e9)
    waits = []
    if timeline.logs is None:
        result.unknown.append("without the servers' logs it is unknown which holders failed")
    else:
        asked_for = _asked(history, timeline.words.acquire)
        for failed, end in _failures(holds, *timeline.logs, path):
            after = [
                hold
                for hold in holds
                if (hold.token or 0) > (failed.token or 0) and hold.granted > end
            ]
            successor = min(after, key=lambda hold: hold.granted, default=None)
            if successor is None:
                continue
            waited = successor.granted - end
            waits.append(waited)
            asked = asked_for.get(failed.ops[1], delay)
            if waited >= int(asked * 1e9) - CLOCK_SLACK_NS:
                continue
            result.anomalies.append(_early(history, failed, successor, end, asked))
    result.anomalies += _late(history, holds, length)
    result.stats = {
        "failed_holders_with_successors": len(waits),
        "shortest_wait_ms": round(min(waits) / 1e6, 1) if waits else None,
    }
    return result


def _asked(history: History, acquire: str) -> dict[int, float]:
    """A grant's index -> the lock-delay that its holder asked for, if it tells it."""
    return {
        done.index: done.value["delay"]
        for _, done in history.answered(acquire)
        if isinstance(done.value, dict) and done.value.get("delay") is not None
    }


def _failures(
    holds: Sequence[Hold], truth: ServerTruth, clock: WallClock, path: str
) -> list[tuple[Hold, int]]:
    """Holds whose node went with its session: the hold, and when."""
    lives = {(life.path, life.czxid): life for life in truth.znodes(path)}
    found = []
    for hold in holds:
        life = lives.get((hold.node or "", hold.token or 0))
        if life is not None and life.deleted_ms is not None and life.how in ("expired", "closed"):
            found.append((hold, clock.monotonic(life.deleted_ms)))
    return found


def _early(history: History, failed: Hold, successor: Hold, end: int, delay: float) -> Anomaly:
    waited = (successor.granted - end) / 1e6
    return Anomaly(
        kind="early-grant",
        description=(
            f"c{successor.client} was granted the lock {waited:.0f} ms after the session of its "
            f"holder c{failed.client} had ended at {at(history, end)}; "
            f"a lock-delay of {delay:g} s was promised"
        ),
        ops=sorted({*failed.ops, *successor.ops}),
        clients=sorted({failed.client, successor.client}),
        start=end,
        end=successor.granted,
        length_ms=waited,
    )


def _late(history: History, holds: Sequence[Hold], length: int) -> list[Anomaly]:
    """An anomaly if after each release in the final phase the next client waited for the delay."""
    final = final_phase(history)
    if final is None:
        return []
    handovers = [
        (later, later.granted - earlier.release_called)
        for earlier, later in pairwise(sorted(holds, key=lambda hold: hold.granted))
        if earlier.called >= final.time
        and earlier.released
        and earlier.release_called is not None
        and later.called < earlier.release_called
    ]
    if len(handovers) < 2 or min(waited for _, waited in handovers) < length:
        return []
    first, waited = handovers[0]
    return [
        Anomaly(
            kind="stuck-waiter",
            description=(
                f"c{first.client} waited {waited / 1e6:.0f} ms after a release, with every fault "
                f"healed, and so did all others: the lock-delay is only for failures"
            ),
            ops=list(first.ops),
            clients=[first.client],
            start=first.called,
            end=first.granted,
            length_ms=waited / 1e6,
        )
    ]
