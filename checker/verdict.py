"""Results of checks: anomalies, and the verdict on them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from rumpus.checker.measures import Measures
from rumpus.checker.valid import Valid

Outcome = Literal["valid", "violation", "unknown", "inconclusive"]
Blamed = Literal["recipe", "servers"]


ANYTHING: Final = ("*",)
"""What servers explain that lose, change or misreport what was committed."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of anomaly, as the check declares that finds it.

    Args:
        name: its name.
        meaning: what it means, in one line. "It" is what the workload's clients hold: a lock, a
            lease, the leadership, a place in a semaphore.
        logs: whether it can only be ruled out with the servers' logs, not from the history alone.
        timed: whether it says that something did not happen within a bounded time: a host that was
            too busy leaves it undecided.
        lesser: whether nobody is harmed by it but those who wait: it is about order, time or waste,
            so what is graver is told before it.
        about: whose it is. ``servers``: ZooKeeper itself promises to prevent it, whatever the
            recipe. ``disks``: nobody promises anything of it.
        explains: of a kind that is about the servers: the kinds of anomaly that a sound recipe may
            have on such servers; ``ANYTHING``: all.
    """

    name: str
    meaning: str
    logs: bool = False
    timed: bool = False
    lesser: bool = False
    about: Literal["recipe", "servers", "disks"] = "recipe"
    explains: tuple[str, ...] = ()

    def explains_kind(self, name: str) -> bool:
        """Whether an anomaly of that name may come of it."""
        return self.explains == ANYTHING or name in self.explains


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
    it. ``kinds`` are those that it can find, by name. ``always`` are kinds that are violations in
    this check whatever the recipe promises: those of a user's own check.
    """

    name: str
    anomalies: list[Anomaly] = msgspec.field(default_factory=list)
    unknown: list[str] = msgspec.field(default_factory=list)
    unjudged: list[str] = msgspec.field(default_factory=list)
    always: list[str] = msgspec.field(default_factory=list)
    kinds: dict[str, Kind] = msgspec.field(default_factory=dict)
    requirements: list[Requirement] = msgspec.field(default_factory=list)
    stats: dict[str, Any] = msgspec.field(default_factory=dict)


class Verdict(msgspec.Struct, kw_only=True):
    """The verdict on a run: every checker's findings, judged by the recipe's promises.

    ``measures`` are figures that are not judged; None if they were not taken. ``blamed`` says
    whose promises a violation breaks: the recipe's, or (``servers``) those of ZooKeeper itself,
    for workloads that test the servers and not a recipe, and if a kind is ``about`` the servers
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
        """All anomalies: promised ones (violations) first, then hazards.

        Of each those of the servers come first and the lesser kinds last; else they are in order
        of time.
        """
        found = [anomaly for check in self.checks for anomaly in check.anomalies]
        every = {name: kind for check in self.checks for name, kind in check.kinds.items()}
        ranks = {
            name: 0 if kind.about == "servers" else 2 if kind.lesser else 1
            for name, kind in every.items()
        }
        return sorted(found, key=lambda a: (not a.promised, ranks.get(a.kind, 1), a.start))


def meaning_of(kind: str, checks: Iterable[CheckResult]) -> str:
    """What a kind of anomaly means, by the checks that find it; empty if none says."""
    return next((check.kinds[kind].meaning for check in checks if kind in check.kinds), "")


def _reason(
    name: str, count: int, checks: Iterable[CheckResult], servers: Mapping[str, Kind]
) -> str:
    """A broken promise in words, and what servers did that explains it."""
    words = [meaning_of(name, checks) or "found by a check of your own"]
    if name not in servers:
        found = sorted(kind.name for kind in servers.values() if kind.explains_kind(name))
        words += [f"explained by {', '.join(found)} of the servers"] * bool(found)
    return f"{name}: {count} ({'; '.join(words)})"


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
        servers = {
            kind.name: kind
            for check in checks
            for kind in check.kinds.values()
            if kind.name in counts and kind.about == "servers"
        }
        ordered = sorted(counts, key=lambda name: name not in servers)
        reasons = [_reason(name, counts[name], checks, servers) for name in ordered]
        blamed: Blamed = "servers" if servers else "recipe"
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
