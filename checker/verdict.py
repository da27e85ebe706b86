"""Results of checkers: anomalies, verdicts, and the intervals that timelines are drawn from."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from rumpus.checker.measures import Measures
from rumpus.checker.timeline.states import Interval

Valid = bool | Literal["unknown"]
Outcome = Literal["valid", "violation", "unknown", "inconclusive"]
Blamed = Literal["recipe", "servers"]

ANOMALIES: dict[str, str] = {
    "double-grant": "on the servers, more live sessions owned it at once than allowed",
    "split-brain": "more clients with live sessions than allowed believed that they held it",
    "unaware-holder": "a client believed that it held it after its own clock should have told it",
    "stale-belief": "a client believed that it held it after its session expired, not knowing yet",
    "stale-action": "an action of a stale holder reached the resource and was accepted",
    "late-append": "an append of a former owner was acknowledged after its successor took over",
    "fenced": "an action of a stale holder was refused by the fence, as it should be",
    "token-regression": "a later grant got a fencing token that is not larger",
    "stuck-waiter": "a client could not proceed although nothing prevented it",
    "deadlock": "no client could proceed although nothing prevented it",
    "leaderless": "no leader could be elected although nothing prevented it",
    "orphan-node": "a node was left behind that belongs to no operation in progress",
    "false-acknowledgement": "a leader was acknowledged that did not lead or did not know it yet",
    "lost-acknowledgement": "a leader's acknowledgement was not written, or another deleted it",
    "false-observation": "an observer was told about the leader what was not true during its call",
    "epoch-regression": "an older leader was seen after a newer one had been",
    "unfair-grant": "a grant came out of queue order",
    "unbelieving-holder": "a holder stopped believing that it held it, without a reason",
    "refused-reentry": "a holder asked for it again and did not get it",
    "early-timeout": "a call reported that its timeout had passed before it had",
    "overdue-call": "a call went on after its timeout and grace although nothing delayed it",
    "herd": "one release woke more waiting clients than promised",
    "early-grant": "a grant came before the lock-delay after a failed holder was over",
    "stale-sequencer": "a sequencer was called valid after its hold had ended",
    "refused-sequencer": "a sequencer was called stale during its hold",
    "stale-request": "a request of an earlier holder was accepted after one of a later holder",
    "generation-regression": "a generation number went back, or did not grow with a change",
    "stale-read": "a read returned older contents than some client had already been told",
    "lost-update": "a write was carried out although the contents were not those it expected",
    "early-event": "a client was told of a change that it could not read yet",
    "jeopardy-call": "a call was answered from the cache after the client's lease had run out",
    "expired-handle": "a call succeeded on a handle whose session had ended",
    "freed-live-holder": "a lock was taken from a holder that was still entitled to it",
    "false-removal": "a client was told that it had removed a node, but it had not",
    "missed-revocation": "a holder was asked to release and never learned of it",
    "lingering-session": "a session that the service refuses lived on after its timeout",
    "early-entry": "a client passed a barrier that was not open yet",
    "early-exit": "a client left a double barrier before others had begun to leave",
    "false-exit": "a client left a double barrier as a member after its session had ended",
    "lost-element": "an element whose put was acknowledged never came out",
    "duplicate-element": "an element came out twice",
    "phantom-element": "an element came out that no client had put in",
    "out-of-order": "an element came out although another had to come first",
    "miscount": "the count contradicts the acknowledged additions",
    "two-decisions": "one transaction was both committed and aborted",
    "invalid-commit": "a transaction was committed without a yes of every participant",
    "lost-vote": "an acknowledged vote is missing, or another one is in its place",
    "blocked-transaction": "a transaction was not decided although nothing prevented it",
    "ghost-entry": "a member was listed after it had gone",
    "missing-entry": "a member that was there was not listed",
    "stale-view": "a watched view did not converge to the state on the servers",
    "shared-partition": "two members owned one partition at once",
    "unowned-partition": "no member owned a partition although there were members",
    "partial-share": "a member was told that its share was complete, but partitions were missing",
    "lost-write": "an acknowledged write is gone",
    "lost-job": "a submitted job never had its effect",
    "repeated-effect": "a job had its effect twice",
    "unnotified-submitter": "a job was done but its submitter never learned of it",
    "false-completion": "a client was told that a job was done, but it was not, or by another",
    "denied-job": "a client was told that a job does not exist although it had been submitted",
    "not-linearizable": "no order of the operations explains all their results",
    "session-order": "a session saw the state go back",
    "missed-event": "a watch was set and its node changed, but no event came",
    "false-event": "a client waiting for a change was told of one that had not happened",
    "repeated-event": "one watch fired more than once",
    "late-event": "a session saw a change before the event of its watch",
    "reordered-event": "the events of two changes came in the wrong order",
    "stale-sync": "a read after a sync missed a write acknowledged before the sync",
    "early-removal": "an ephemeral node disappeared while its session was alive",
    "lingering-ephemeral": "an ephemeral node outlived its session",
    "revived-session": "a session was still served after the servers had ended it",
    "unauthorised-access": "an operation was carried out that the access control list forbids",
    "refused-access": "an operation was refused that the access control list allows",
    "wrong-stat": "a znode's Stat contradicts the operations on it",
    "duplicate-sequence": "one sequence number was given out twice",
    "sequence-regression": "a later sequence number is not larger",
    "unexpected-error": "a call raised an error that is a mistake of the program",
    "torn-multi": "one part of a transaction was seen without the rest",
    "lost-transaction": "a server never got a transaction that the ensemble committed",
    "diverged-servers": "a server's tree differs from the one that the others have",
    "latent-divergence": "a server's disk holds what the ensemble dropped, until its next start",
}
"""Every anomaly that a checker can report, with its meaning in one line.

"It" is what the workload's clients hold: a lock, a lease, the leadership, a place in a semaphore.
"""


OF_SERVERS: frozenset[str] = frozenset({"lost-transaction", "diverged-servers"})
"""Anomalies that ZooKeeper itself promises to prevent, whatever the recipe."""

ABOUT_SERVERS: frozenset[str] = OF_SERVERS | {"latent-divergence"}
"""Anomalies of which no recipe can promise anything."""

TOLD_BY_LOGS: frozenset[str] = frozenset(
    {
        "double-grant",
        "lost-acknowledgement",
        "false-observation",
        "early-grant",
        "false-removal",
        "false-exit",
        "lost-vote",
        "partial-share",
        "expired-handle",
        "early-removal",
        "lingering-ephemeral",
        "revived-session",
    }
)
"""Anomalies that can only be ruled out with the servers' logs, not from the history alone."""


class Anomaly(msgspec.Struct, kw_only=True):
    """One thing that went wrong.

    ``ops`` are the indices of the records that show it. It lasted from ``start`` to ``end`` (ns on
    the run's clock) and concerned ``clients``. ``promised`` tells whether the recipe promises that
    this never happens: then it is a violation, else a hazard. ``length_ms`` is how long it lasted;
    None for kinds without a duration.
    """

    kind: str
    description: str
    ops: list[int] = msgspec.field(default_factory=list)
    clients: list[int] = msgspec.field(default_factory=list)
    start: int = 0
    end: int = 0
    length_ms: float | None = None
    promised: bool = False


class Requirement(msgspec.Struct):
    """Something that must have happened for a verdict to mean anything."""

    name: str
    needed: int
    observed: int

    @property
    def met(self) -> bool:
        """Whether ``observed`` reaches ``needed``."""
        return self.observed >= self.needed


class CheckResult(msgspec.Struct, kw_only=True):
    """What one checker found. ``unknown`` holds its reasons why something cannot be decided.

    ``unjudged`` says what it could not look at. That does not change the verdict, and is told with
    it. ``always`` are kinds of anomaly that are violations in this check whatever the recipe
    promises: those of a user's own check. ``meanings`` says what kinds mean that are not in
    ``ANOMALIES``.
    """

    name: str
    anomalies: list[Anomaly] = msgspec.field(default_factory=list)
    unknown: list[str] = msgspec.field(default_factory=list)
    unjudged: list[str] = msgspec.field(default_factory=list)
    always: list[str] = msgspec.field(default_factory=list)
    meanings: dict[str, str] = msgspec.field(default_factory=dict)
    intervals: list[Interval] = msgspec.field(default_factory=list)
    requirements: list[Requirement] = msgspec.field(default_factory=list)
    stats: dict[str, Any] = msgspec.field(default_factory=dict)


class Verdict(msgspec.Struct, kw_only=True):
    """The verdict on a run: every checker's findings, judged by the recipe's promises.

    ``measures`` are figures that are not judged; None if they were not taken. ``blamed`` says
    whose promises a violation breaks: the recipe's, or (``servers``) those of ZooKeeper itself,
    for workloads that test the servers and not a recipe, and if an anomaly is one of ``OF_SERVERS``
    (nothing that a recipe builds on such servers can be relied on). ``notes`` are remarks that
    change nothing: what the servers' logs leave open.
    """

    valid: Valid
    outcome: Outcome
    reasons: list[str]
    checks: list[CheckResult]
    measures: Measures | None = None
    blamed: Blamed = "recipe"
    notes: list[str] = msgspec.field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 valid, 1 violation, 3 unknown or inconclusive."""
        return {"valid": 0, "violation": 1, "unknown": 3, "inconclusive": 3}[self.outcome]

    def stats(self, check: str) -> dict[str, Any]:
        """The ``stats`` of the check of that name; empty if there is none."""
        return next((each.stats for each in self.checks if each.name == check), {})

    def meaning(self, kind: str) -> str:
        """What a kind of anomaly means, in one line; empty if nobody says."""
        return meaning_of(kind, self.checks)

    @property
    def unjudged(self) -> list[str]:
        """What the verdict does not speak of, in sentences."""
        return [what for check in self.checks for what in check.unjudged]

    @property
    def anomalies(self) -> list[Anomaly]:
        """All anomalies: promised ones (violations) first, then hazards, each in order of time."""
        found = [anomaly for check in self.checks for anomaly in check.anomalies]
        return sorted(found, key=lambda a: (not a.promised, a.start))


def meaning_of(kind: str, checks: Iterable[CheckResult]) -> str:
    """What a kind of anomaly means, by rumpus or by the checks; empty if nobody says."""
    told = (check.meanings[kind] for check in checks if kind in check.meanings)
    return ANOMALIES.get(kind) or next(told, "")


def judge(
    checks: Iterable[CheckResult], prevents: Iterable[str], *, strict: bool = False
) -> Verdict:
    """Judge what the checkers found by what the recipe promises.

    An anomaly that the recipe promises to prevent, or that a check always counts (``always``), is a
    violation, and a violation decides the verdict. With ``strict`` a hazard counts as a violation
    too, except ``fenced``, which shows that the fence works. Without violations the verdict is
    unknown if a checker could not decide something, else inconclusive if too little happened, else
    valid.

    Args:
        checks: the findings; their anomalies get ``promised`` set.
        prevents: kinds of anomaly that the recipe promises to prevent.
        strict: whether hazards fail the run.
    """
    checks = list(checks)
    promised = frozenset(prevents)
    counts: dict[str, int] = {}
    for check in checks:
        for anomaly in check.anomalies:
            anomaly.promised = anomaly.kind in promised or anomaly.kind in check.always
            if anomaly.promised or (strict and anomaly.kind != "fenced"):
                counts[anomaly.kind] = counts.get(anomaly.kind, 0) + 1
    if counts:
        reasons = [
            f"{kind}: {count} ({meaning_of(kind, checks) or 'found by a check of your own'})"
            for kind, count in counts.items()
        ]
        blamed: Blamed = "servers" if OF_SERVERS & promised & counts.keys() else "recipe"
        return Verdict(
            valid=False, outcome="violation", reasons=reasons, checks=checks, blamed=blamed
        )
    unknown = [f"{check.name}: {reason}" for check in checks for reason in check.unknown]
    if unknown:
        return Verdict(valid="unknown", outcome="unknown", reasons=unknown, checks=checks)
    unmet = [
        f"too little happened: {need.name}, {need.observed} of at least {need.needed}"
        for check in checks
        for need in check.requirements
        if not need.met
    ]
    if unmet:
        return Verdict(valid="unknown", outcome="inconclusive", reasons=unmet, checks=checks)
    return Verdict(valid=True, outcome="valid", reasons=[], checks=checks)
