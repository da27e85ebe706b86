"""One run of a campaign as a task for any executor: data in, data out."""

import gc
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from rumpus.checker.history import History, load_began
from rumpus.checker.verdict import Anomaly, Blamed, Outcome
from rumpus.nemesis.entry import PlanError
from rumpus.nemesis.plan import VERSION, FaultPlan, validate
from rumpus.results.figures import figures
from rumpus.results.fingerprint import Fingerprint, fingerprint
from rumpus.results.record import RunRecord
from rumpus.results.signatures import signatures
from rumpus.results.store_error import StoreError
from rumpus.results.story import story_of
from rumpus.results.traits import Traits, traits_of_all
from rumpus.runs.judged_run import JudgedRun, judged_run
from rumpus.runs.judging import Judgement
from rumpus.runs.made_here import note_made
from rumpus.runs.run_settings import RunSettings
from rumpus.usage_error import UsageError

COLLECTED: Final = 10
"""After so many runs of a process what they have left in cycles is collected.

Each leaves some megabytes, which Python would seldom look at: its collector rests during runs.
"""

DOUBTFUL: Final[frozenset[Outcome]] = frozenset({"violation", "unknown"})
"""Outcomes of which somebody may want to see more than a seed tells."""

KEPT: Final = 20
"""How many runs of a recipe keep their files in one directory. Each takes some megabytes."""

_runs = count(1)


NOT_REPEATABLE: Final = (
    "note: on real servers the seed does not decide a run, so an anomaly that one run shows may be "
    "missing from the next"
)
"""What is said of tasks that are not ``repeatable``."""


@dataclass(frozen=True, kw_only=True)
class TrialTask:
    """A run that is to be performed and judged.

    Attributes:
        settings: what to run.
        plan: the faults; None: those of the settings.
        keep: directory in which the files of a run stay that broke a promise, or may have, as
            ``WORKLOAD/RECIPE-SEED``; None: no files stay. For real servers, where nobody can
            perform the run again.
    """

    settings: RunSettings
    plan: FaultPlan | None = None
    keep: Path | None = None

    @property
    def repeatable(self) -> bool:
        """Whether its seed decides all of the run; it does in the simulation alone."""
        return self.settings.ensemble == "sim"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The first anomaly of a fingerprint in a run.

    Attributes:
        fingerprint: by which it is known.
        promised: whether the recipe promises that this never happens.
        story: what led to it, line by line.
        traits: the signs of the cause of a broken promise; else None.
        span: when the first call began that shows it, and when it had happened, in seconds since
            the load began; None if that is not known.
        clients: the numbers of the clients that it names.
    """

    fingerprint: Fingerprint
    promised: bool
    story: tuple[str, ...]
    traits: Traits | None = None
    span: tuple[float, float] | None = None
    clients: tuple[int, ...] = ()


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run showed.

    Attributes:
        outcome: of the verdict.
        reasons: why it is not valid, in words.
        blamed: whose promises a violation breaks.
        seen: its anomalies, one for each fingerprint: broken promises first.
        plan: the faults of the run.
        seed: its seed.
        digest: of a simulated run; None on docker.
        virtual_seconds: how long a simulated run took on its own clock; 0 on docker.
        operations: how many operations the clients called.
        cpu_seconds: processor time that performing and judging took.
        versions: of the software that was used.
        settings: what was run, with what the seed has drawn (`RunSettings.swarm`).
        signatures: the transitions that clients went through (`rumpus.results.signatures`).
        figures: what was measured (`rumpus.results.figures`).
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    blamed: Blamed
    seen: tuple[Seen, ...]
    plan: FaultPlan
    seed: int
    digest: str | None
    virtual_seconds: float
    operations: int
    cpu_seconds: float
    versions: dict[str, str]
    settings: RunSettings
    signatures: frozenset[int] = frozenset()
    figures: dict[str, float] = {}

    def find(self, wanted: Fingerprint, *, promised: bool) -> Seen | None:
        """The anomaly of this kind that is most like the wanted one; None if there is none."""
        alike = [
            each
            for each in self.seen
            if each.fingerprint.kind == wanted.kind and each.promised == promised
        ]
        return max(alike, key=lambda each: each.fingerprint.resembles(wanted), default=None)


def perform(task: TrialTask) -> TrialOutcome:
    """Perform a run and judge it.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed by itself.
        KeyboardInterrupt: Ctrl-C.
    """
    if next(_runs) % COLLECTED == 0:
        gc.collect()
    began = time.process_time()
    with judged_run(task.settings, lambda _: None, plan=task.plan) as judged:
        if task.keep is not None and judged.judgement.verdict.outcome in DOUBTFUL:
            _keep(judged, task.keep)
        return outcome_of(
            judged.judgement, task.settings, cpu_seconds=lambda: time.process_time() - began
        )


def _keep(judged: JudgedRun, keep: Path) -> None:
    """Copy a run's files, unless as many are kept as should be.

    Raises:
        StoreError: they cannot be copied.
    """
    record = judged.judgement.record
    place = keep / judged.directory.path.parent.name
    recipe = re.sub(r"[^A-Za-z0-9._-]+", "-", record.recipe)
    try:
        place.mkdir(parents=True, exist_ok=True)
        if len(list(place.glob(f"{recipe}-*"))) < KEPT:
            there = shutil.copytree(judged.directory.path, place / f"{recipe}-{record.seed}")
            note_made(there)
    except OSError as error:
        raise StoreError.from_os_error(place, "keep a run's files", error) from error


def outcome_of(
    judgement: Judgement,
    settings: RunSettings,
    *,
    cpu_seconds: Callable[[], float] | None = None,
) -> TrialOutcome:
    """What a judged run showed.

    Args:
        judgement: the run's.
        settings: what was asked for.
        cpu_seconds: a function that says how much processor time the run has taken.

    Raises:
        UsageError: the plan in the run's description is none, or could not be performed.
    """
    record, timeline, verdict = judgement
    history = timeline.history
    return TrialOutcome(
        outcome=verdict.outcome,
        reasons=tuple(verdict.reasons),
        blamed=verdict.blamed,
        seen=tuple(_seen(judgement)),
        plan=_plan_of(record),
        seed=record.seed,
        digest=record.digest,
        virtual_seconds=record.virtual_seconds or 0.0,
        operations=len(history.operations()),
        cpu_seconds=0.0 if cpu_seconds is None else cpu_seconds(),
        versions=dict(record.versions),
        settings=_settled(settings, record),
        signatures=signatures(timeline),
        figures=figures(timeline, verdict.measures),
    )


def _plan_of(record: RunRecord) -> FaultPlan:
    """The faults of a run; none if it had no plan. No run has one that it could not perform."""
    if record.plan is None:
        return FaultPlan(version=VERSION)
    try:
        plan = msgspec.convert(record.plan, FaultPlan)
        validate(
            plan,
            nodes=record.nodes,
            clients=record.clients,
            time_limit=record.time_limit,
            source="its plan",
        )
    except (msgspec.ValidationError, PlanError) as error:
        raise UsageError(f"the plan in the run's description is none: {error}") from error
    return plan


def _seen(judgement: Judgement) -> Sequence[Seen]:
    """A run's anomalies, the first of each fingerprint."""
    history = judgement.timeline.history
    found: dict[tuple[bool, Fingerprint], Anomaly] = {}
    for anomaly in judgement.verdict.anomalies:
        found.setdefault((anomaly.promised, fingerprint(history, anomaly)), anomaly)
    broken = {key: anomaly for key, anomaly in found.items() if anomaly.promised}
    signs = traits_of_all(judgement.timeline, list(broken.values()))
    traits = dict(zip(broken, signs, strict=True))
    return [
        Seen(
            fingerprint=print_,
            promised=promised,
            story=tuple(story_of(judgement.timeline, anomaly)),
            traits=traits.get((promised, print_)),
            span=_span(history, anomaly, judgement.record.time_limit),
            clients=tuple(anomaly.clients),
        )
        for (promised, print_), anomaly in found.items()
    ]


def _span(history: History, anomaly: Anomaly, time_limit: float) -> tuple[float, float] | None:
    """From the first call that shows an anomaly to its end; see ``Seen.span``."""
    began = load_began(history, time_limit)
    if began is None or not anomaly.start:
        return None
    cited = set(anomaly.ops)
    times = [op.time for op in history if op.index in cited]
    first = min([anomaly.start, *times])
    ended = max(anomaly.start, anomaly.end)
    return round(max(0.0, (first - began) / 1e9), 3), round(max(0.0, (ended - began) / 1e9), 3)


def _settled(settings: RunSettings, record: RunRecord) -> RunSettings:
    """The settings of a run without a swarm: what its seed has drawn is said."""
    return replace(
        settings,
        argv=(),
        swarm=None,
        fixed=(),
        plan=None,
        nemesis=None,
        recipe=record.recipe,
        seed=record.seed,
        nodes=record.nodes,
        clients=record.clients,
        time_limit=record.time_limit,
        session_timeout=record.session_timeout,
        usage=record.options.get("usage", ""),
        preemption=record.options.get("preemption", settings.preemption),
    )
