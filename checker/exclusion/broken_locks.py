"""Whether locks that clients took from other holders were taken rightly, and how many quickly."""

from rumpus.checker.exclusion.blacklisting import blacklistings, check_blacklisting
from rumpus.checker.exclusion.removals import check_removals, check_told_removals, removals
from rumpus.checker.history import History, Op
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.verdict import CheckResult


def check_broken_locks(
    history: History,
    truth: ServerTruth | None,
    clock: WallClock | None,
    path: str,
    mark: str,
    *,
    session_timeout: float,
    listed: bool,
    refused: bool = False,
) -> list[CheckResult]:
    """Judge operations ``break``, ``die`` and ``free`` by what the servers committed.

    The check ``removals`` counts as ``quick`` the locks that passed on before they had to: before
    a hung holder woke up, or before a dead one's session had expired.

    Args:
        history: the run.
        truth: what was committed; None when the servers' logs are not at hand.
        clock: converts the servers' times to the run's clock; None when it is not known.
        path: the parent of the contenders' nodes.
        mark: what the names of contenders' nodes contain.
        session_timeout: the clients', in seconds.
        listed: whether the sessions of hung holders are put on a blacklist.
        refused: whether the service refuses the sessions on it; else their clients end them.
    """
    named = blacklistings(history, "break")
    if truth is None or clock is None:
        freed = sum(op.value["removed"] for _, op in _done(history, "free"))
        silent = CheckResult(name="removals", stats={"quick": len(named) + freed})
        if silent.stats["quick"]:
            silent.unknown.append(
                "without the servers' logs it is unknown how locks were handed over"
            )
        return [silent]
    declared = {op.value["token"]: called for called, op in _done(history, "die")}
    found = removals(truth, clock, path, mark)
    taken = check_removals(history, found, declared)
    checks = [taken, check_told_removals(history, truth, clock, path, "free")]
    if listed:
        timeout = session_timeout if refused else None
        obeyed = check_blacklisting(history, named, truth, clock, timeout=timeout)
        taken.stats["quick"] = obeyed.stats["obeyed within their hang"]
        return [*checks, obeyed]
    taken.stats["quick"] = sum(
        removal.time < declared[removal.life.czxid] + session_timeout * 1e9
        for removal in found
        if removal.life.czxid in declared
    )
    return checks


def _done(history: History, f: str) -> list[tuple[int, Op]]:
    """The operations ``f`` that were ok, as pairs of the time of the call and the completion."""
    return [
        (each.invoke.time, each.completion)
        for each in history.operations()
        if each.invoke.f == f and each.outcome == "ok" and each.completion is not None
    ]
