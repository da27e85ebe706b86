"""Lifts a failing run out of its world: what failed, and its faults at the times they had."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from rumpus.campaigns.run_cases import judged_again
from rumpus.campaigns.trial_task import Seen
from rumpus.checker.history import History, load_began
from rumpus.checker.timeline.faults import OUTSIDE, FaultWindow
from rumpus.checker.verdict import Anomaly
from rumpus.harness.simulated.ensemble import OFFERED
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import FaultPlan, conflict
from rumpus.nemesis.registry import availability
from rumpus.nemesis.targets import Targets
from rumpus.results.fingerprint import fingerprint
from rumpus.runs.applicability import simulated
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

SHORTEST_S: Final = 0.05
"""The shortest duration of a lifted fault, in seconds."""

_OUTSIDE_KINDS: Final = (
    ("is paused", "pause"),
    ("is dead", "kill"),
    ("is removed", "kill"),
    ("is unplugged", "partition"),
)
"""What is said of a disturbance from outside -> the fault that does the same."""


@dataclass(frozen=True, kw_only=True)
class LiftedRun:
    """A failing run as something to perform in the simulation.

    Attributes:
        settings: what to run there.
        plan: the faults that were in force, at their actual times. A server that led when it was
            hit is given as the leader.
        seen: the anomaly.
        moment: when it showed, in seconds of load; at the end of the load at the latest.
        ensemble: where the run was performed.
        left_out: what could not be lifted, in words.
    """

    settings: RunSettings
    plan: FaultPlan
    seen: Seen
    moment: float
    ensemble: str
    left_out: Sequence[str] = ()


def lift(path: Path, anomaly: str | None = None, *, trust: bool = False) -> LiftedRun:
    """Lift a run.

    Args:
        path: the run's directory.
        anomaly: the kind of anomaly; None: that of the first broken promise, or of the first hazard
            if no promise was broken.
        trust: whether the user trusts the code that it names.

    Raises:
        UsageError: the run has no such anomaly, its command line is not one of ``rumpus run``, or
            it names code that is not trusted.
        UnreadableRun: something is missing or malformed.
    """
    judgement, outcome = judged_again(path, trust=trust)
    seen = _chosen(path, outcome.seen, anomaly)
    record, history, settings = judgement.record, judgement.timeline.history, outcome.settings
    left_out = []
    windows = judgement.timeline.faults
    began = _load_began(history, outcome.plan, windows, record.time_limit)
    entries: list[Entry] = []
    for window in windows:
        entry = _entry(window, outcome.plan, history, began, record.time_limit)
        why = "it was never in force" if entry is None else _misfit(entry, entries)
        if entry is None or why:
            left_out.append(f"{window.kind} {' '.join(window.targets)}".rstrip() + f": {why}")
        else:
            entries.append(entry)
    there, without = simulated(settings)
    return LiftedRun(
        settings=there,
        plan=FaultPlan(version=1, entries=tuple(entries), punctual=outcome.plan.punctual),
        seen=seen,
        moment=_moment(history, judgement.verdict.anomalies, seen, began, record.time_limit),
        ensemble=record.ensemble,
        left_out=[*left_out, *without],
    )


def _chosen(path: Path, seen: Sequence[Seen], kind: str | None) -> Seen:
    chosen = next((each for each in seen if kind in (None, each.fingerprint.kind)), None)
    if chosen is not None:
        return chosen
    if not seen:
        raise UsageError(f"{path}: the run has no anomaly that could be seen again")
    kinds = dict.fromkeys(each.fingerprint.kind for each in seen)
    raise UsageError(f"{path}: the run has no anomaly {kind!r}; it has {', '.join(kinds)}")


def _load_began(
    history: History, plan: FaultPlan, windows: Sequence[FaultWindow], time_limit: float
) -> int:
    """When the load began. No fault begins before its time, so the most punctual one tells best."""
    times = {str(entry.id): round(entry.at * 1e9) for entry in plan.entries}
    began = [window.begun - times[window.id] for window in windows if window.id in times]
    if began:
        return min(began)
    by_its_end = load_began(history, time_limit)
    return history.start if by_its_end is None else by_its_end


def _entry(
    window: FaultWindow, plan: FaultPlan, history: History, began: int, time_limit: float
) -> Entry | None:
    """A fault as it was; None if it was never in force, or only after the load."""
    planned = next((entry for entry in plan.entries if str(entry.id) == window.id), None)
    at = max(0.0, (window.begun - began) / 1e9)
    if window.in_force is None or not window.verified_in_force or at >= time_limit:
        return None
    end = began + round(time_limit * 1e9) if window.healing is None else window.healing
    since = window.begun if window.kind == OUTSIDE else window.in_force
    duration = max(SHORTEST_S, round((end - since) / 1e9, 3))
    if planned is None:
        kind = next((kind for said, kind in _OUTSIDE_KINDS if said in window.detail), None)
        if kind is None:
            return None
        number = 1 + max((entry.id for entry in plan.entries), default=0) + _number(window)
        targets = Targets(names=tuple(window.targets))
        return Entry(id=number, at=round(at, 3), kind=kind, targets=targets, duration=duration)
    targets = planned.targets
    if targets.role is not None and window.targets == [_leader(history, window.begun)]:
        targets = Targets(role="leader")
    return msgspec.structs.replace(planned, at=round(at, 3), duration=duration, targets=targets)


def _number(window: FaultWindow) -> int:
    return int(window.id.rpartition("-")[2])


def _leader(history: History, time: int) -> str | None:
    """Which server led at a time."""
    leader = None
    for op in history.events("control", "leader"):
        if op.time > time:
            break
        leader = op.value["leader"]
    return leader


def _misfit(entry: Entry, entries: Iterable[Entry]) -> str | None:
    """Why a fault cannot be in a simulated plan beside others; None if it can."""
    simulated = availability(OFFERED, "sim")[entry.kind]
    if not simulated.available:
        return simulated.why
    for other in entries:
        if entry.at < other.end and (why := conflict(other, entry)):
            return why
    return None


def _moment(
    history: History, anomalies: Iterable[Anomaly], seen: Seen, began: int, time_limit: float
) -> float:
    first = next(
        each
        for each in anomalies
        if each.promised == seen.promised and fingerprint(history, each) == seen.fingerprint
    )
    if not first.start:
        return time_limit
    return min(time_limit, max(0.0, (first.start - began) / 1e9))
