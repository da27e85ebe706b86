"""Results of checkers: anomalies, verdicts, and the intervals that timelines are drawn from."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from rumpus.checker.measures import Measures

Valid = bool | Literal["unknown"]
Outcome = Literal["valid", "violation", "unknown", "inconclusive"]
Blamed = Literal["recipe", "servers"]

ANOMALIES: dict[str, str] = {
    "double-grant": "more live sessions own it at once on the server than may",
    "split-brain": "more clients believe that they hold it than may, while their sessions live",
    "unaware-holder": "a holder went on believing after its own clock should have told it",
    "stale-belief": "a holder's session had expired and it had no chance to know yet",
    "stale-action": "a stale holder's action reached the resource and was accepted",
    "fenced": "a stale holder's action was refused by the fence: the fence at work",
    "token-regression": "a later grant got a token that is not larger",
    "stuck-waiter": "a client could not proceed although nothing was in its way",
    "deadlock": "no client could proceed although nothing was in the way",
    "leaderless": "no leader could be elected although nothing was in the way",
    "orphan-node": "a node is left that no living operation owns",
    "false-acknowledgement": "a leader was acknowledged that did not lead, or had not said so",
    "lost-acknowledgement": "a leader's acknowledgement was not written, or another took it away",
    "false-observation": "an observer was told of the leader what was not so during its look",
    "epoch-regression": "an older leader was seen after a newer one had been",
    "unfair-grant": "granted out of queue order",
    "unbelieving-holder": "a client was granted it and did not believe that it held",
    "refused-reentry": "a holder asked for it again and did not get it",
    "early-timeout": "a call said that its time was up, and it was not",
    "overdue-call": "a call went on after its timeout and grace, though nothing was in its way",
    "herd": "one release woke more clients than promised",
    "early-grant": "granted before the lock-delay after a failed holder was over",
    "stale-sequencer": "a sequencer was called valid after its hold had ended",
    "refused-sequencer": "a sequencer was called stale although its hold went on",
    "freed-live-holder": "a lock was taken from a holder that had a right to it",
    "false-removal": "somebody was told that it had removed a node, and it had not",
    "missed-revocation": "a holder was asked to let go and never learned of it",
    "early-entry": "went through a barrier that was not open yet",
    "early-exit": "left a double barrier while others were still to leave",
    "false-exit": "left a double barrier as a member although its session had ended before",
    "lost-element": "an element whose put was acknowledged never came out",
    "duplicate-element": "an element came out twice",
    "phantom-element": "an element came out that nobody had put in",
    "out-of-order": "an element came out although another had to come first",
    "miscount": "the count is not what the acknowledged additions make it",
    "two-decisions": "one transaction was both committed and aborted",
    "invalid-commit": "a transaction was committed without the vote of every participant",
    "lost-vote": "a vote was acknowledged, and another one stands in its place",
    "blocked-transaction": "a transaction found no end although nothing was in its way",
    "ghost-entry": "somebody who had gone was still listed",
    "missing-entry": "somebody who was there was not listed",
    "stale-view": "a watched view did not become what the servers hold",
    "shared-partition": "two members owned one partition at once",
    "unowned-partition": "nobody owned a partition although members were there",
    "partial-share": "a member was told that its share was complete, and parts of it were missing",
    "lost-write": "a write that was acknowledged is gone",
    "lost-job": "a job that was submitted never had its effect",
    "repeated-effect": "a job had its effect twice",
    "unnotified-submitter": "a job was done and its submitter never learned of it",
    "false-completion": "somebody was told that a job was done, and had not been by who it said",
    "denied-job": "somebody was told that there was no such job, although it had been submitted",
    "not-linearizable": "no order of the operations explains all answers",
    "session-order": "a session saw the state go backwards",
    "missed-event": "a watch was left, its node changed, and no event came",
    "false-event": "a client that waited for a change was told of one that had not been made",
    "repeated-event": "one watch fired more than once",
    "late-event": "a change was seen before the event of the watch that was left for it",
    "reordered-event": "the events of two changes came in the wrong order",
    "stale-sync": "a read after a sync did not see what had been acknowledged before the sync",
    "early-removal": "an ephemeral node went while its session lived",
    "lingering-ephemeral": "an ephemeral node outlived its session",
    "revived-session": "a session went on after the servers had ended it",
    "unauthorised-access": "an operation was carried out that the access control list forbids",
    "refused-access": "an operation was refused that the access control list allows",
    "wrong-stat": "a znode's Stat contradicts what was done to it",
    "duplicate-sequence": "one sequence number was given out twice",
    "sequence-regression": "a later sequence number is not larger",
    "torn-multi": "a part of a transaction was seen without the rest",
}
"""Every anomaly a checker can report, with its meaning in one line."""


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
        "early-removal",
        "lingering-ephemeral",
        "revived-session",
    }
)
"""Anomalies that only the servers' logs can rule out: the history alone cannot."""


class Anomaly(msgspec.Struct, kw_only=True):
    """One thing that went wrong.

    ``ops`` are indices of the records that contradict each other, ``start`` and ``end`` the times
    (ns) between which the anomaly lasted, ``clients`` those that took part. ``promised`` says
    whether the recipe promises that this never happens: then it is a violation, else a hazard.
    ``length_ms`` is how long it lasted; None for kinds that have no duration.
    """

    kind: str
    description: str
    ops: list[int] = msgspec.field(default_factory=list)
    clients: list[int] = msgspec.field(default_factory=list)
    start: int = 0
    end: int = 0
    length_ms: float | None = None
    promised: bool = False


class Interval(msgspec.Struct, kw_only=True, gc=False):
    """A bar of a timeline, from ``start`` to ``end`` in nanoseconds.

    ``kind`` is ``belief`` (the client believes that it holds), ``grant`` (it owns the lock on the
    servers; ``label``: the node's path),
    ``session`` (``label``: connected, suspended or lost), ``fault`` (``label``: its kind and
    targets; ``client`` is None), ``paused`` or ``dead`` (the client's process), ``leader``
    (``label``: which server leads). ``token`` is the fencing token of the grant, if it has one.
    """

    kind: str
    start: int
    end: int
    client: int | None = None
    label: str = ""
    token: int | None = None


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
    """What one checker found. ``unknown`` holds its reasons why something cannot be decided."""

    name: str
    anomalies: list[Anomaly] = msgspec.field(default_factory=list)
    unknown: list[str] = msgspec.field(default_factory=list)
    intervals: list[Interval] = msgspec.field(default_factory=list)
    requirements: list[Requirement] = msgspec.field(default_factory=list)
    stats: dict[str, Any] = msgspec.field(default_factory=dict)


class Verdict(msgspec.Struct, kw_only=True):
    """The judgement over a run: every checker's findings, weighed by the recipe's promises.

    ``measures`` are figures that are not judged; None if they were not taken. ``blamed`` says
    whose promises a violation breaks: the recipe's, or (``servers``) those of ZooKeeper itself,
    for workloads that test the servers and not a recipe.
    """

    valid: Valid
    outcome: Outcome
    reasons: list[str]
    checks: list[CheckResult]
    measures: Measures | None = None
    blamed: Blamed = "recipe"

    @property
    def exit_code(self) -> int:
        """0 valid, 1 violation, 3 unknown or inconclusive."""
        return {"valid": 0, "violation": 1, "unknown": 3, "inconclusive": 3}[self.outcome]

    def stats(self, check: str) -> dict[str, Any]:
        """The ``stats`` of the check of that name; empty if there is none."""
        return next((each.stats for each in self.checks if each.name == check), {})

    @property
    def anomalies(self) -> list[Anomaly]:
        """All anomalies: promised ones (violations) first, then hazards, each in order of time."""
        found = [anomaly for check in self.checks for anomaly in check.anomalies]
        return sorted(found, key=lambda a: (not a.promised, a.start))


def judge(
    checks: Iterable[CheckResult], prevents: Iterable[str], *, strict: bool = False
) -> Verdict:
    """Weigh what the checkers found against what the recipe promises.

    An anomaly that the recipe promises to prevent is a violation, and a violation decides the
    verdict. With ``strict`` a hazard counts as a violation too, except ``fenced``, which shows
    that the fence works. Without violations the verdict is unknown if a checker could not decide
    something, else inconclusive if too little happened, else valid.

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
            anomaly.promised = anomaly.kind in promised
            if anomaly.promised or (strict and anomaly.kind != "fenced"):
                counts[anomaly.kind] = counts.get(anomaly.kind, 0) + 1
    if counts:
        reasons = [f"{kind}: {count} ({ANOMALIES[kind]})" for kind, count in counts.items()]
        return Verdict(valid=False, outcome="violation", reasons=reasons, checks=checks)
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
