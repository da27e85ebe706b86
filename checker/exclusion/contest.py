"""The checks of every contest: a run in which clients contend for a lock or the like."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from rumpus.checker.deciders.registry import MODELS
from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.grants import check_order, check_tokens
from rumpus.checker.exclusion.herd import check_herd
from rumpus.checker.exclusion.holds_by_model import check_holds_by_model
from rumpus.checker.exclusion.mutual_exclusion import check_exclusion
from rumpus.checker.exclusion.overdue import check_overdue
from rumpus.checker.exclusion.session_proofs import lives_by_grants
from rumpus.checker.history import History
from rumpus.checker.timeline.holds import Hold, Words
from rumpus.checker.timeline.ownership import ServerView, sequence_number
from rumpus.checker.timeline.states import Interval
from rumpus.checker.verdict import CheckResult


def contest_results(
    history: History,
    holds: Sequence[Hold],
    server: ServerView | None,
    words: Words,
    *,
    prevents: AbstractSet[str],
    tokens: bool,
    wakeups: int | None,
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
        history: the run.
        holds: its holds. Where the history does not name the session, their node's is filled in.
        server: which session owned the lock when; None when the servers' logs are not at hand.
        words: names of the operations.
        prevents: anomalies that the recipe promises to prevent.
        tokens: whether its grants have tokens that only grow.
        wakeups: how many waiters one release may wake; None if there is no bound.
        permits: how many may hold at once.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
        decider: a model that the holds have to follow, too, which is checked if nothing else was
            found before; "": none.
        dismissed: sessions whose clients were asked to release.
        more: what the family's own checks found.
        prompt: whether a client must be granted soon after it comes to own on the servers.
        nobody: the kind of anomaly if no client at all is granted in the final phase.
    """
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
        lateness_matters="unaware-holder" in prevents,
    )
    if server is None:
        exclusion.stats["expiries_while_holding"] = None
    else:
        exclusion.intervals += _owners(server, history)
    checks = [exclusion]
    if tokens:
        checks.append(check_tokens(history, holds))
    if decider and not any(check.anomalies for check in checks):
        checks.append(
            check_holds_by_model(history, holds, MODELS[decider], permits=permits, tokens=tokens)
        )
    if "unfair-grant" in prevents:
        checks.append(check_order(history, holds, sessions, permits))
    checks.append(check_herd(history, holds, words, wakeups, server, permits=permits))
    checks.append(check_entitlement(history, holds, server, words, dismissed=dismissed))
    checks.append(check_timeouts(history))
    checks += more
    if prompt:
        checks.append(check_overdue(history, server, words))
    checks.append(check_liveness(history, words, nobody=nobody))
    return checks


def _name_sessions(holds: Sequence[Hold], server: ServerView) -> None:
    """Fill in the session of holds whose client did not say it: the session of their node."""
    sessions = {owner.path: owner.session for owner in server.owners}
    for hold in holds:
        if hold.session is None and sequence_number(hold.node) >= 0:
            hold.session = sessions.get(hold.node or "")


def _owners(server: ServerView, history: History) -> list[Interval]:
    """Which client owned it when by the servers' logs, for timelines."""
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
