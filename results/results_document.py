"""``results.json``: a run's verdict with its counts; also what ``rumpus run --json`` prints."""

from pathlib import Path
from typing import Any

import msgspec

from rumpus.checker.measures import Measures
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.valid import Valid
from rumpus.checker.verdict import Anomaly, Blamed, Outcome, Verdict
from rumpus.results.escapes import in_json
from rumpus.results.operation_statistics import (
    OperationStatistics,
    by_fault,
    by_function,
    outcomes,
)
from rumpus.results.record import FORMAT_VERSION, RunRecord
from rumpus.results.story import story


class AnomalyCount(msgspec.Struct, kw_only=True):
    """Anomalies of one kind. ``longest_ms`` is None for kinds without a duration."""

    kind: str
    promised: bool
    count: int
    longest_ms: float | None


class OperationCounts(msgspec.Struct, kw_only=True):
    """How the clients' operations ended; those still open count as ``info``."""

    ok: int
    fail: int
    info: int


class FaultCount(msgspec.Struct, kw_only=True):
    """Faults of one kind; ``verified`` of them were seen both in force and healed."""

    kind: str
    count: int
    verified: int


class RequirementCount(msgspec.Struct, kw_only=True):
    """Something that must have happened, and how often it did."""

    check: str
    name: str
    needed: int
    observed: int
    met: bool


class CheckFindings(msgspec.Struct, kw_only=True):
    """One checker's findings in full."""

    name: str
    anomalies: list[Anomaly]
    unknown: list[str]
    unjudged: list[str]
    stats: dict[str, Any]


class ResultsDocument(msgspec.Struct, kw_only=True):
    """The outcome of a run. Durations are in milliseconds, times in ``checks`` in nanoseconds.

    ``notes`` are remarks that change nothing. ``blamed`` says whose promises a violation breaks:
    the recipe's, or the servers' (ZooKeeper's own). ``story`` says what led to the first broken
    promise, line by line. ``digest`` and ``virtual_seconds`` are None unless the run was simulated.
    ``measures`` are figures that do not affect the verdict (``checker.measures``); ``versions`` are
    those of the software that was used.
    """

    format: int = FORMAT_VERSION
    valid: Valid
    outcome: Outcome
    exit_code: int
    reasons: list[str]
    notes: list[str]
    blamed: Blamed
    story: list[str]
    run: str
    id: str
    started: str
    duration_s: float
    complete: bool
    seed: int
    workload: str
    recipe: str
    ensemble: str
    digest: str | None
    virtual_seconds: float | None
    anomalies: list[AnomalyCount]
    ops: OperationCounts
    faults: list[FaultCount]
    requirements: list[RequirementCount]
    checks: list[CheckFindings]
    by_function: list[OperationStatistics]
    by_fault: list[OperationStatistics]
    measures: Measures | None
    versions: dict[str, str]

    def to_json(self) -> bytes:
        """The document, indented, with a newline at its end."""
        encoded = msgspec.json.encode(self, order="deterministic")
        return in_json(msgspec.json.format(encoded, indent=2)) + b"\n"


def results_document(
    directory: Path,
    record: RunRecord,
    timeline: Timeline,
    verdict: Verdict,
) -> ResultsDocument:
    """Put a run's results together.

    Args:
        directory: the run's directory.
        record: what was run.
        timeline: what happened.
        verdict: the findings of the checkers.

    Raises:
        ValueError: calls and completions, or starts and stops of faults, do not pair; the message
            names the record.
    """
    history = timeline.history
    operations = history.operations()
    return ResultsDocument(
        valid=verdict.valid,
        outcome=verdict.outcome,
        exit_code=verdict.exit_code,
        reasons=verdict.reasons,
        notes=verdict.notes,
        blamed=verdict.blamed,
        story=story(timeline, verdict) if verdict.outcome == "violation" else [],
        run=str(directory),
        id=record.run,
        started=record.started.isoformat(),
        duration_s=round((history.end - history.start) / 1e9, 3),
        complete=not history.truncated,
        seed=record.seed,
        workload=record.workload,
        recipe=record.recipe,
        ensemble=record.ensemble,
        digest=record.digest,
        virtual_seconds=record.virtual_seconds,
        anomalies=anomaly_counts(verdict),
        ops=OperationCounts(**outcomes(operations)),
        faults=fault_counts(timeline),
        requirements=[
            RequirementCount(check=check.name, met=need.met, **msgspec.structs.asdict(need))
            for check in verdict.checks
            for need in check.requirements
        ],
        checks=[
            CheckFindings(
                name=check.name,
                anomalies=check.anomalies,
                unknown=check.unknown,
                unjudged=check.unjudged,
                stats=check.stats,
            )
            for check in verdict.checks
        ],
        by_function=by_function(operations),
        by_fault=by_fault(operations, timeline.faults),
        measures=verdict.measures,
        versions={"rumpus": record.rumpus, **record.versions},
    )


def anomaly_counts(verdict: Verdict) -> list[AnomalyCount]:
    """Anomalies by kind, broken promises first."""
    counts: dict[tuple[str, bool], AnomalyCount] = {}
    for anomaly in verdict.anomalies:
        key = (anomaly.kind, anomaly.promised)
        entry = counts.setdefault(
            key,
            AnomalyCount(kind=anomaly.kind, promised=anomaly.promised, count=0, longest_ms=None),
        )
        entry.count += 1
        if anomaly.length_ms is not None:
            entry.longest_ms = max(entry.longest_ms or 0.0, round(anomaly.length_ms, 3))
    return list(counts.values())


def fault_counts(timeline: Timeline) -> list[FaultCount]:
    """Faults by kind, in order of first appearance."""
    counts: dict[str, FaultCount] = {}
    for window in timeline.faults:
        entry = counts.setdefault(window.kind, FaultCount(kind=window.kind, count=0, verified=0))
        entry.count += 1
        entry.verified += window.verified_in_force and window.verified_healed
    return list(counts.values())
