"""What every contest is judged by."""

from collections.abc import Collection, Sequence

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.grants import check_order, check_tokens, sequence_number
from rumpus.checker.exclusion.herd import check_herd
from rumpus.checker.exclusion.holds_by_model import check_holds_by_model
from rumpus.checker.exclusion.mutual_exclusion import ServerView, check_exclusion
from rumpus.checker.exclusion.overdue import check_overdue
from rumpus.checker.exclusion.session_proofs import lives_by_grants
from rumpus.checker.history import History
from rumpus.checker.holds import Hold, Words
from rumpus.checker.verdict import CheckResult, Interval
from rumpus.workloads.framework.judgement import Evidence, view_of_servers


def contest_results(
    evidence: Evidence,
    words: Words,
    *,
    permits: int,
    tolerance: int,
    decider: str,
    dismissed: Collection[str],
    more: Sequence[CheckResult],
    prompt: bool,
    nobody: str,
) -> list[CheckResult]:
    """What the checks find in a run in which clients contended for one thing.

    Args:
        evidence: what the run left.
        words: names of the operations.
        permits: how many may hold at once.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
        decider: a model that holds in which nothing was found are held against, too; "": none.
        dismissed: sessions whose clients were asked to let go.
        more: what the family's own checks found.
        prompt: whether who comes to own on the servers is to be granted soon.
        nobody: what it is called when no client at all proceeds.
    """
    history, promises = evidence.history, evidence.promises
    holds = evidence.holds(words)
    server = view_of_servers(evidence, permits)
    if server is not None:
        _name_sessions(holds, server)
    sessions = server or lives_by_grants(holds)
    exclusion = check_exclusion(
        history,
        holds,
        sessions,
        words,
        permits=permits,
        tolerance=tolerance,
        lateness_matters="unaware-holder" in promises.prevents,
    )
    if server is None:
        exclusion.stats["expiries_while_holding"] = None
    else:
        exclusion.intervals += _owners(server, history)
    checks = [exclusion]
    if promises.tokens:
        checks.append(check_tokens(history, holds))
    if decider and not any(check.anomalies for check in checks):
        checks.append(
            check_holds_by_model(
                history, holds, MODELS[decider], permits=permits, tokens=promises.tokens
            )
        )
    if "unfair-grant" in promises.prevents:
        checks.append(check_order(history, holds, sessions, permits))
    wakeups = None if promises.wakeups is None else promises.wakeups * permits
    checks.append(check_herd(history, holds, words, wakeups, server, permits=permits))
    checks.append(check_entitlement(history, holds, server, words, dismissed=dismissed))
    checks.append(check_timeouts(history))
    checks += more
    if prompt:
        checks.append(check_overdue(history, server, words))
    checks.append(check_liveness(history, words, nobody=nobody))
    return checks


def _name_sessions(holds: Sequence[Hold], server: ServerView) -> None:
    """Whose client could not say in which session it was granted: it is that of its node."""
    sessions = {owner.path: owner.session for owner in server.owners}
    for hold in holds:
        if hold.session is None and sequence_number(hold.node) >= 0:
            hold.session = sessions.get(hold.node or "")


def _owners(server: ServerView, history: History) -> list[Interval]:
    """Who owned it by the servers' logs, for pictures."""
    clients = history.clients_of_sessions()
    return [
        Interval(
            kind="grant",
            start=owner.start,
            end=owner.end if owner.end is not None else history.end,
            client=clients.get(owner.session),
            label=owner.path,
        )
        for owner in server.owners
        if owner.start < history.end
    ]
