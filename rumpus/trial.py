"""``rumpus.run``: puts a recipe or a whole workload on trial, over one seed or many."""

import inspect
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from rumpus.checker.verdict import Anomaly, Outcome, Requirement, Valid, Verdict
from rumpus.nemesis.fault import Fault
from rumpus.project_names import Names, names_here
from rumpus.references_of_objects import reference_of
from rumpus.results.record import RunRecord
from rumpus.results.reports.measure_text import version_line
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory, create
from rumpus.runs.judged_run import judged_run
from rumpus.runs.run_settings import command_line
from rumpus.trial_failed import TrialFailed
from rumpus.usage_error import UsageError

P = ParamSpec("P")
R = TypeVar("R")

Ensemble = Literal["sim", "docker", "auto"]

SIM_SECONDS = 20.0
"""Seconds of load of each run if nothing is said, in the simulation."""

DOCKER_SECONDS = 60.0
"""The same on real servers."""


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """One run of a trial.

    Attributes:
        seed: its seed.
        outcome: ``valid``, ``violation``, ``unknown`` or ``inconclusive`` (too little happened).
        reasons: why it is not valid, in words.
        unmet: what happened too seldom for a verdict.
        digest: two simulated runs with the same digest were the same run; None on real servers.
        directory: the run's files; None if they were not kept.
    """

    seed: int
    outcome: Outcome
    reasons: Sequence[str]
    unmet: Sequence[Requirement] = ()
    digest: str | None = None
    directory: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a trial found.

    Attributes:
        outcome: ``violation`` if any run broke a promise. Else ``valid`` if most runs could be
            decided, and all that must happen happened in one of them. Else ``inconclusive`` or
            ``unknown``.
        reasons: why it is not valid, in words.
        runs: each run, in order of seeds. After the first violation there are no more.
        anomalies: broken promises of the violating run.
        hazards: anomalies that nobody promised to prevent, of the last run.
        unjudged: what the last run's verdict does not speak of, in words.
        story: what led to the first broken promise, line by line.
        report: the violating run's report; None if no run broke a promise.
        command: repeats the violating run; else the last one.
        notes: what the recipe does not promise, and what was derived for it.
        versions: of the software that was used: ``kazoo`` is what the clients had loaded.
    """

    outcome: Outcome
    reasons: Sequence[str]
    runs: Sequence[SeedResult]
    anomalies: Sequence[Anomaly] = ()
    hazards: Sequence[Anomaly] = ()
    unjudged: Sequence[str] = ()
    story: Sequence[str] = ()
    report: Path | None = None
    command: str = ""
    notes: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> Valid:
        """True, False, or ``"unknown"``."""
        told: dict[str, Valid] = {"valid": True, "violation": False}
        return told.get(self.outcome, "unknown")

    @property
    def seed(self) -> int:
        """The seed of the last run: of the violating one, if any."""
        return self.runs[-1].seed

    def assert_valid(self) -> None:
        """Do nothing if the trial is valid.

        Raises:
            TrialFailed: it is not; the message says why.
        """
        __tracebackhide__ = True
        if self.outcome != "valid":
            raise TrialFailed(str(self))

    def hazards_in_words(self) -> list[str]:
        """A line for each kind of hazard: how many there were, and the first."""
        kinds: dict[str, list[Anomaly]] = {}
        for anomaly in self.hazards:
            kinds.setdefault(anomaly.kind, []).append(anomaly)
        return [
            f"hazard, not promised: {kind}: {len(found)}, the first: {found[0].description}"
            for kind, found in kinds.items()
        ]

    def __str__(self) -> str:
        """The verdict with its reasons, the story, what was judged, and how to see it again."""
        count = len(self.runs)
        lines = [f"{self.outcome}: seed {self.seed}, run {count} of this trial"]
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"  Not judged: {what}" for what in self.unjudged]
        lines += [f"  {told}" for told in self.hazards_in_words()]
        if self.story:
            lines += ["", "what happened:", *(f"  {line}" for line in self.story)]
        if self.notes:
            lines += ["", f"promises: {self.notes}"]
        if self.versions:
            lines += ["", f"versions: {version_line(self.versions)}"]
        if self.command:
            lines += ["", f"again:  {self.command}"]
        if self.report is not None:
            lines.append(f"report: {self.report}")
        return "\n".join(lines)


def combined(verdicts: Sequence[Verdict]) -> tuple[Outcome, list[str]]:
    """The outcome of runs of which none broke a promise, and the reasons.

    What must happen may happen in any of them. A run whose verdict is unknown shows nothing; if
    most do, so does the trial.
    """
    unknown = [verdict for verdict in verdicts if verdict.outcome == "unknown"]
    if 2 * len(unknown) > len(verdicts):
        return "unknown", list(unknown[0].reasons)
    needs = [need for each in verdicts for check in each.checks for need in check.requirements]
    met = {need.name for need in needs if need.met}
    missing = {need.name: need for need in needs if need.name not in met}
    if missing:
        return "inconclusive", [
            f"too little happened: {need.name}, {need.observed} of at least {need.needed}: "
            "give more seeds, or a longer time_limit"
            for need in missing.values()
        ]
    return "valid", []


def _with_project_names(function: Callable[Concatenate[Names, P], R]) -> Callable[P, R]:
    """Give a function the project's names, and what a call leaves out the project's defaults."""
    signature = inspect.signature(function)
    options = dict(list(signature.parameters.items())[1:])

    @wraps(function)
    def call(*arguments: P.args, **given: P.kwargs) -> R:
        names = names_here()
        workload = arguments[0] if arguments else given.get("workload")
        called = [workload] if isinstance(workload, str) else [getattr(workload, "name", "")]
        more: dict[str, Any] = {
            name: value for name, value in names.defaults(given, *called).items() if name in options
        }
        return function(names, *arguments, **{**more, **given})

    told = signature.replace(parameters=list(options.values()))
    call.__signature__ = told  # type: ignore[attr-defined] # what a caller gives
    return call


@_with_project_names
def run(  # noqa: D417 - callers do not give `names`
    names: Names,
    workload: Any,
    recipe: Any = None,
    *,
    seeds: int = 1,
    seed: int = 0,
    promises: Collection[str] = (),
    nemesis: Sequence[str | type[Fault[Any]]] | None = None,
    ensemble: Ensemble = "sim",
    time_limit: float | None = None,
    nodes: int = 3,
    clients: int = 5,
    session_timeout: float = 2.0,
    plan: str | Path | None = None,
    swarm: Literal["light", "normal", "brutal"] | None = None,
    usage: str = "",
    preemption: Literal["auto", "none", "blocking", "primitives", "lines"] = "auto",
    kazoo: str | Path | None = None,
    handler: str = "threading",
    nemesis_interval: float = 10.0,
    image: str | None = None,
    zookeeper: str | None = None,
    fencing: bool = False,
    action_time: float = 0.0,
    guard: float = 0.0,
    strict: bool = False,
    runs: str | Path = "runs",
    keep: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Result:
    """Put a recipe on trial: clients use it under faults, and what happened is judged.

    Args:
        workload: what the clients do: the name of a workload (``rumpus list``), or a subclass of
            ``rumpus.Workload``. Options that are left out have the defaults of your
            ``pyproject.toml`` for it (docs/configuration.md), or else these.
        recipe: what they use: the name of one of the workload's recipes, or a class or function of
            your own, which is called with a started kazoo client and a path. It must be importable
            (at the top of its module). Default: the workload's first.
        seeds: how many runs to perform, each with the next seed; the first that breaks a promise
            is the last.
        seed: the first seed.
        promises: what a recipe of your own promises besides what its family usually does: names
            such as ``fifo``, or of anomalies.
        nemesis: kinds of fault, names or subclasses of ``rumpus.Fault``; None for the usual ones,
            [] for none.
        ensemble: ``sim``: simulated servers on virtual time; ``docker``: real ones; ``auto``:
            real ones if a Docker engine answers.
        time_limit: seconds of load of each run; 20 in the simulation, 60 on real servers.
        nodes: servers.
        clients: clients.
        session_timeout: ZooKeeper session timeout in seconds.
        plan: a file with faults to inject in place of random ones (``plan.json`` of a run).
        swarm: draw faults that overlap, and another number of clients and servers, session timeout
            and usage for each seed; what differs from its default is not drawn.
        usage: how clients use the recipe, ``name=value`` separated by commas
            (docs/simulation.md).
        preemption: when simulated threads may be preempted; ``auto``: drawn from the seed.
        kazoo: the kazoo that the clients run with: a version, which pip installs once into a cache,
            or a directory that has one; None: the installed one.
        handler: kazoo's handler, and so what the clients' threads are: ``threading``, or on real
            servers ``gevent`` or ``eventlet``.
        nemesis_interval: seconds from one fault to the next, or less so that every kind occurs.
        image: Docker image of real servers; None: the one that rumpus builds.
        zookeeper: version of ZooKeeper that real servers have, such as ``3.9``, whose image is
            built when it is missing (``rumpus image``); None: 3.8.0.
        fencing: whether the protected resource refuses stale fencing tokens.
        action_time: seconds that half of the holders' actions take, from the look whether the lock
            is still held to the effect.
        guard: seconds of validity that must be left for an action to begin.
        strict: whether hazards are violations, too.
        runs: the directory for the files of runs.
        keep: whether to keep the files of runs that broke no promise, too.
        say: called with a line for every step.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed, by an error in the recipe's module, say.
        KeyboardInterrupt: Ctrl-C; the run is brought to its end before, and nothing is left of it.
    """
    if seeds < 1:
        raise UsageError(f"seeds is {seeds}: at least one run is needed")
    workload_name = reference_of(workload, "workload")
    recipe_name = None if recipe is None else reference_of(recipe, "recipe")
    seconds = time_limit or (DOCKER_SECONDS if ensemble == "docker" else SIM_SECONDS)
    kinds = None if nemesis is None else [reference_of(kind, "fault") for kind in nemesis]
    for warning in names.warnings:
        say(f"warning: {warning}")
    done: list[SeedResult] = []
    verdicts: list[Verdict] = []
    for number in range(seed, seed + seeds):
        given: dict[str, Any] = {
            "argv": (),
            "workload": workload_name,
            "recipe": recipe_name,
            "promise": list(promises),
            "ensemble": ensemble,
            "nodes": nodes,
            "clients": clients,
            "time_limit": seconds,
            "nemesis": kinds,
            "seed": number,
            "plan": None if plan is None else Path(plan),
            "swarm": swarm,
            "usage": usage,
            "preemption": preemption,
            "kazoo": None if kazoo is None else str(kazoo),
            "handler": handler,
            "runs": Path(runs),
            "session_timeout": session_timeout,
            "nemesis_interval": nemesis_interval,
            "image": image,
            "zookeeper": zookeeper,
            "fencing": fencing,
            "action_time": action_time,
            "guard": guard,
            "strict": strict,
        }
        settings = names.settings_of(given)
        settings = replace(settings, argv=command_line(settings)[1:])
        with judged_run(settings, say) as judged:
            record, history, verdict, servers = judged.judgement
            directory = judged.directory
            kept = keep or verdict.outcome == "violation"
            if kept:
                directory = _kept(directory, settings.runs, record)
                results = results_document(directory.path, record, history, verdict, servers)
                directory.finish(record, history, verdict, results)
        done.append(_seed_result(record, verdict, directory.path if kept else None))
        verdicts.append(verdict)
        if verdict.outcome == "violation":
            break
    violation = verdict.outcome == "violation"
    outcome, reasons = combined(verdicts)
    return Result(
        outcome="violation" if violation else outcome,
        reasons=verdict.reasons if violation else reasons,
        runs=done,
        anomalies=[each for each in verdict.anomalies if each.promised],
        hazards=[each for each in verdict.anomalies if not each.promised],
        unjudged=verdict.unjudged,
        story=results.story if violation else (),
        report=directory.report if violation else None,
        command=record.command_line(),
        notes=record.promises.notes,
        versions=record.versions,
    )


def _seed_result(record: RunRecord, verdict: Verdict, directory: Path | None) -> SeedResult:
    return SeedResult(
        seed=record.seed,
        outcome=verdict.outcome,
        reasons=verdict.reasons,
        unmet=[need for check in verdict.checks for need in check.requirements if not need.met],
        digest=record.digest,
        directory=directory,
    )


def _kept(directory: RunDirectory, runs: Path, record: RunRecord) -> RunDirectory:
    """Move a run's files to where runs are kept."""
    kept = create(runs, directory.path.parent.name, record.started)
    for file in directory.path.iterdir():
        target = kept.path / file.name
        if target.is_dir():
            target.rmdir()
        shutil.move(file, target)
    return kept
