"""What a run left (``Evidence``), and the verdict on it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rumpus.checker.every_run.errors import check_errors
from rumpus.checker.every_run.exercise import (
    Effect,
    check_exercise,
    count_elections,
    count_lost_sessions,
)
from rumpus.checker.history import History
from rumpus.checker.servers.server_truth import ServerTruth
from rumpus.checker.timeline.clock import WallClock
from rumpus.checker.timeline.holds import Hold, Words, extract_holds
from rumpus.checker.timeline.ownership import ServerView
from rumpus.checker.timeline.server_view import server_view
from rumpus.checker.verdict import CheckResult, Requirement, Verdict, judge
from rumpus.recipes.promises import Line, Promises
from rumpus.recipes.servers import ZOOKEEPER


@dataclass(frozen=True)
class Evidence:
    """What a run is judged by.

    Args:
        history: its records.
        promises: what the recipe promises.
        truth: what the servers' logs say; None when they are not at hand.
        clock: converts the servers' times to the run's clock; None when that is not known.
        line: which znodes the recipe's contenders have on the servers.
        kinds: kinds of fault that were asked for.
        effects: what kinds of other repositories among them must have caused.
        directed: whether the fault plan was given by hand, or drawn for a swarm.
        punctual: whether it was a punctual plan (``nemesis.plan``).
        strict: whether hazards are violations.
        view: when grants of servers that are not ZooKeeper's began and ended; None with
            ZooKeeper's, whose ``truth`` tells, or when their logs are not at hand.
        impossible: effects that faults cannot have with these servers.
        system: what the servers are: a name of ``harness.docker.systems``.
        path: the znode below which everything happened.
        session_timeout: the clients' session timeout, in seconds.
        lossy: whether a fault made servers' disks lose what they had written: then no server is
            to blame for what it lacks.
        damaged: whether the records were changed, or contradict each other: then nothing that they
            show is a violation.
    """

    history: History
    promises: Promises
    truth: ServerTruth | None = None
    clock: WallClock | None = None
    line: Line | None = None
    kinds: Sequence[str] = ()
    effects: Collection[Effect] = ()
    directed: bool = False
    punctual: bool = False
    strict: bool = False
    view: ServerView | None = None
    impossible: Collection[Effect] = ()
    system: str = ZOOKEEPER
    path: str = ""
    session_timeout: float = 0.0
    lossy: bool = False
    damaged: bool = False
    _holds: dict[Words, list[Hold]] = field(default_factory=dict, init=False, repr=False)

    def holds(self, words: Words) -> list[Hold]:
        """The holds in the history, given the names of its operations; computed once."""
        if words not in self._holds:
            self._holds[words] = extract_holds(self.history, words)
        return self._holds[words]

    @property
    def expiries(self) -> int:
        """How many sessions expired by the servers' logs; without logs, how many clients lost."""
        if self.truth is None:
            return count_lost_sessions(self.history)
        return sum(life.expired for life in self.truth.sessions().values())

    @property
    def leader_changes(self) -> int:
        """How often the leader changed: to one that committed something, or else was seen."""
        if self.truth is None:
            return count_elections(self.history) - 1
        return len(self.truth.epochs()) - 1


def judge_exercised(
    evidence: Evidence,
    checks: Sequence[CheckResult],
    *,
    happened: Sequence[Requirement],
    expiries: int | None,
    expired: str = "expiries while holding",
    fault_effects: bool = True,
) -> Verdict:
    """Judge by the workload's checks, and by whether the run exercised anything.

    Args:
        evidence: what the run left.
        checks: what the workload's checks found.
        happened: the workload's own requirements (its ``needs``).
        expiries: how many sessions expired when it mattered; None when only the servers' logs
            could tell, and these are not at hand.
        expired: what ``expiries`` counts, in words.
        fault_effects: whether what rumpus's own kinds of fault usually cause must have happened.
    """
    from rumpus.nemesis.registry import effects  # noqa: PLC0415 - not in a client's process

    caused = {*(effects(evidence.kinds) if fault_effects else ()), *evidence.effects}
    exercise = check_exercise(
        evidence.history,
        happened=happened,
        expiries=expiries,
        leader_changes=evidence.leader_changes,
        kinds=evidence.kinds,
        effects=() if evidence.directed else caused - {*evidence.impossible},
        expired=expired,
        any_kind=evidence.punctual,
    )
    checks = [*checks, check_errors(evidence.history), exercise]
    return judge(checks, evidence.promises.prevents, strict=evidence.strict)


def view_of_servers(evidence: Evidence, permits: int = 1) -> ServerView | None:
    """Who owned the lock (or permit, or role) when, by the servers' logs; None without logs."""
    if evidence.view is not None:
        return evidence.view
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
