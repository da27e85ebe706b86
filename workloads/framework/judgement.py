"""From what a run left to its verdict: which checkers a family's histories go through."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rumpus.checker.clock import WallClock
from rumpus.checker.deciders.decide import ModelEntry
from rumpus.checker.every_run.exercise import check_exercise, count_elections, count_lost_sessions
from rumpus.checker.every_run.liveness import check_liveness
from rumpus.checker.every_run.timeouts import check_timeouts
from rumpus.checker.exclusion.entitlement import check_entitlement
from rumpus.checker.exclusion.grants import check_order, check_tokens, sequence_number
from rumpus.checker.exclusion.herd import check_herd
from rumpus.checker.exclusion.holds_by_model import check_holds_by_model
from rumpus.checker.exclusion.mutual_exclusion import TOLERANCE_NS, ServerView, check_exclusion
from rumpus.checker.exclusion.overdue import check_overdue
from rumpus.checker.exclusion.session_proofs import lives_by_grants
from rumpus.checker.history import History
from rumpus.checker.holds import Hold, Words, extract_holds
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.servers.server_view import server_view
from rumpus.checker.verdict import CheckResult, Interval, Requirement, Verdict, judge
from rumpus.recipes.promises import Line, Promises

LEAST_HANDOVERS = 10
"""How many contended handovers make a run meaningful."""

LEAST_ACTIONS = 10
"""How many actions of holders must have been accepted."""


@dataclass(frozen=True)
class Evidence:
    """What a run is judged by.

    Args:
        history: its records.
        promises: what the recipe promises.
        truth: what the servers' logs say; None when they are not at hand.
        clock: lays the servers' times on the run's clock; None when it is not known.
        line: where contenders stood on the server.
        kinds: kinds of fault that were asked for.
        directed: whether the fault plan was given by hand.
        strict: whether hazards are violations.
        path: the znode below which everything happened.
        session_timeout: the clients', in seconds.
    """

    history: History
    promises: Promises
    truth: ServerTruth | None = None
    clock: WallClock | None = None
    line: Line | None = None
    kinds: Sequence[str] = ()
    directed: bool = False
    strict: bool = False
    path: str = ""
    session_timeout: float = 0.0
    _holds: dict[Words, list[Hold]] = field(default_factory=dict, init=False, repr=False)

    def holds(self, words: Words) -> list[Hold]:
        """The history's holds by the names of its operations; found once."""
        if words not in self._holds:
            self._holds[words] = extract_holds(self.history, words)
        return self._holds[words]

    @property
    def expiries(self) -> int:
        """How many sessions expired: by the servers' logs, or else those that clients lost."""
        if self.truth is None:
            return count_lost_sessions(self.history)
        return sum(life.expired for life in self.truth.sessions().values())

    @property
    def leader_changes(self) -> int:
        """How often another leader got something committed; without logs: was seen to lead."""
        if self.truth is None:
            return count_elections(self.history) - 1
        return len(self.truth.epochs()) - 1


def judge_contention(
    evidence: Evidence,
    words: Words,
    nobody: str,
    *,
    permits: int = 1,
    prompt: bool = False,
    tolerance: int = TOLERANCE_NS,
    more: Sequence[CheckResult] = (),
    happened: Sequence[Requirement] = (),
    dismissed: Collection[str] = (),
    model: ModelEntry | None = None,
) -> Verdict:
    """Judge a run in which clients contended for one thing (a lock, the leadership).

    Args:
        evidence: what the run left.
        words: names of the operations.
        nobody: what it is called when no client at all proceeds.
        permits: how many may hold at once.
        prompt: whether who comes to own on the servers is to be granted soon.
        tolerance: nanoseconds that a client may take to notice that its session has ended.
        more: what a family's own checks found.
        happened: what must have happened beside contended handovers.
        dismissed: sessions whose clients were asked to let go.
        model: what holds in which no check finds anything are held against once more; None where
            they may end before their clients know, though their sessions live.
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
    _draw_owners(server, history, exclusion)
    checks = [exclusion]
    if promises.tokens:
        checks.append(check_tokens(history, holds))
    if model is not None and not any(check.anomalies for check in checks):
        checks.append(
            check_holds_by_model(history, holds, model, permits=permits, tokens=promises.tokens)
        )
    if "unfair-grant" in promises.prevents:
        checks.append(check_order(history, holds, sessions, permits))
    wakeups = promises.wakeups * permits if promises.wakeups is not None else None
    checks.append(check_herd(history, holds, words, wakeups, server, permits=permits))
    checks.append(check_entitlement(history, holds, server, words, dismissed=dismissed))
    checks.append(check_timeouts(history))
    checks += more
    if prompt:
        checks.append(check_overdue(history, server, words))
    checks.append(check_liveness(history, words, nobody=nobody))
    return judge_exercised(
        evidence,
        checks,
        happened=[
            Requirement("contended handovers", LEAST_HANDOVERS, exclusion.stats["handovers"]),
            accepted_actions(history),
            *happened,
        ],
        expiries=exclusion.stats["expiries_while_holding"],
    )


def judge_exercised(
    evidence: Evidence,
    checks: Sequence[CheckResult],
    *,
    happened: Sequence[Requirement],
    expiries: int | None,
    expired: str = "expiries while holding",
) -> Verdict:
    """Judge by a family's checks, and by whether the run exercised anything.

    Args:
        evidence: what the run left.
        checks: what the family's checks found.
        happened: what of the workload's own must have happened.
        expiries: sessions that expired when it mattered; None when it takes the servers' logs to
            count them, and these are not at hand.
        expired: what ``expiries`` counts, in words.
    """
    from rumpus.nemesis.registry import effects  # noqa: PLC0415 - not in a client's process

    exercise = check_exercise(
        evidence.history,
        happened=happened,
        expiries=expiries,
        leader_changes=evidence.leader_changes,
        kinds=evidence.kinds,
        effects=() if evidence.directed else effects(evidence.kinds),
        expired=expired,
    )
    return judge([*checks, exercise], evidence.promises.prevents, strict=evidence.strict)


def accepted_actions(history: History) -> Requirement:
    """That holders acted: holds in which nobody does anything say nothing."""
    return Requirement(
        "accepted actions of holders",
        LEAST_ACTIONS,
        sum(bool(op.value["accepted"]) for op in history.events("witness", "act")),
    )


def view_of_servers(evidence: Evidence, permits: int = 1) -> ServerView | None:
    """Who owned what when, by the servers' logs; None when these are not at hand."""
    if evidence.truth is None or evidence.clock is None or evidence.line is None:
        return None
    line = evidence.line
    return server_view(
        evidence.truth,
        evidence.clock,
        kind=line.kind,
        path=line.path,
        mark=line.mark,
        shared=line.shared,
        permits=permits,
    )


def _name_sessions(holds: Sequence[Hold], server: ServerView) -> None:
    """Whose client could not say in which session it was granted: it is that of its node."""
    sessions = {owner.path: owner.session for owner in server.owners}
    for hold in holds:
        if hold.session is None and sequence_number(hold.node) >= 0:
            hold.session = sessions.get(hold.node or "")


def _draw_owners(server: ServerView | None, history: History, result: CheckResult) -> None:
    if server is None:
        return
    clients = history.clients_of_sessions()
    result.intervals += [
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
