"""Whether locks that clients took from other holders were taken rightly, and how many quickly."""

from rumpus.checker.check import Least, check
from rumpus.checker.exclusion.blacklisting import blacklistings, is_listed, within_hang
from rumpus.checker.exclusion.removals import FREED_LIVE_HOLDER, judge_removals, removals
from rumpus.checker.history import History, Op
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult


@check(
    "removals",
    finds=[FREED_LIVE_HOLDER],
    least=[Least(2, "quick", "locks that passed on without waiting")],
)
def check_broken_locks(timeline: Timeline) -> CheckResult:
    """Judge operations ``break``, ``die`` and ``free`` by what the servers committed.

    Locks count as ``quick`` that passed on before they had to: before a hung holder woke up, or
    before a dead one's session had expired.
    """
    history, line = timeline.history, timeline.line
    named = blacklistings(history, "break")
    if timeline.logs is None or line is None:
        freed = sum(op.value["removed"] for _, op in _done(history, "free"))
        silent = CheckResult(name="removals", stats={"quick": len(named) + freed})
        if silent.stats["quick"]:
            silent.unknown.append(
                "without the servers' logs it is unknown how locks were handed over"
            )
        return silent
    declared = {op.value["token"]: called for called, op in _done(history, "die")}
    found = removals(*timeline.logs, line.path, line.mark)
    taken = judge_removals(history, found, declared)
    if is_listed(timeline):
        taken.stats["quick"] = within_hang(timeline, named)
    else:
        taken.stats["quick"] = sum(
            removal.time < declared[removal.life.czxid] + timeline.session_timeout * 1e9
            for removal in found
            if removal.life.czxid in declared
        )
    return taken


def _done(history: History, f: str) -> list[tuple[int, Op]]:
    """The operations ``f`` that were ok, as pairs of the time of the call and the completion."""
    return [(operation.invoke.time, done) for operation, done in history.answered(f)]
