"""From what a run left to its verdict: which checkers a family's histories go through."""

from collections.abc import Sequence
from dataclasses import dataclass

from checker.clock import WallClock
from checker.exclusion import TOLERANCE_NS, ServerView, check_exclusion
from checker.exercise import check_exercise
from checker.grants import check_order, check_tokens, sequence_number
from checker.herd import check_herd
from checker.history import History
from checker.holds import Hold, Words, extract_holds
from checker.liveness import check_liveness
from checker.overdue import check_overdue
from checker.server_truth import ServerTruth
from checker.server_view import server_view
from checker.verdict import CheckResult, Interval, Requirement, Verdict, judge
from recipes.promises import Line, Promises

LEAST_HANDOVERS = 10
"""How many contended handovers make a run meaningful."""


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
        whole: whether this is a run of ours from start to end, of which liveness and enough
            exercise can be asked; false for a history that came alone.
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
    whole: bool = True

    @property
    def expiries(self) -> int | None:
        """How many sessions the servers ended by themselves; None without their logs."""
        return sum(s.expired for s in self.truth.sessions().values()) if self.truth else None

    @property
    def leader_changes(self) -> int | None:
        """How often another leader got something committed; None without the servers' logs."""
        return len(self.truth.epochs()) - 1 if self.truth else None

    @property
    def expired_sessions(self) -> int | None:
        """How many sessions a server ended; None without the servers' logs."""
        if self.truth is None:
            return None
        return sum(life.expired for life in self.truth.sessions().values())


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
    """
    history, promises = evidence.history, evidence.promises
    holds = extract_holds(history, words)
    server = _server(evidence, permits)
    if server is not None:
        _name_sessions(holds, server)
    exclusion = check_exclusion(
        history,
        holds,
        server,
        words,
        permits=permits,
        tolerance=tolerance,
        lateness_matters="unaware-holder" in promises.prevents,
    )
    _draw_owners(server, history, exclusion)
    checks = [exclusion]
    if promises.tokens:
        checks.append(check_tokens(history, holds))
    if "unfair-grant" in promises.prevents:
        checks.append(check_order(history, holds, server, permits))
    wakeups = promises.wakeups * permits if promises.wakeups is not None else None
    checks.append(check_herd(history, holds, words, wakeups))
    checks += more
    if prompt:
        checks.append(check_overdue(history, server, words))
    if evidence.whole:
        checks.append(check_liveness(history, words, nobody=nobody))
        checks.append(
            check_exercise(
                history,
                happened=[
                    Requirement(
                        name="contended handovers",
                        needed=LEAST_HANDOVERS,
                        observed=exclusion.stats["handovers"],
                    ),
                    *happened,
                ],
                expiries=exclusion.stats["expiries_while_holding"],
                leader_changes=evidence.leader_changes,
                kinds=evidence.kinds,
                directed=evidence.directed,
            )
        )
    return judge(checks, promises.prevents, strict=evidence.strict)


def _server(evidence: Evidence, permits: int) -> ServerView | None:
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
    clients = {
        op.value["session"]: op.value["client"]
        for op in history.events("session", "connected")
        if op.value.get("session")
    }
    result.intervals += [
        Interval(
            kind="grant",
            start=owner.start,
            end=owner.end if owner.end is not None else history.end,
            client=clients.get(owner.session),
            label=owner.path.rpartition("/")[2],
        )
        for owner in server.owners
        if owner.start < history.end
    ]
