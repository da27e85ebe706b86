"""``rumpus.run``: puts a recipe or a whole workload on trial, over one seed or many."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rumpus.checker.valid import Valid
from rumpus.checker.verdict import Anomaly, Outcome, Requirement, Verdict
from rumpus.project_names import names_here
from rumpus.results.record import RunRecord
from rumpus.results.reports.measure_text import version_line
from rumpus.results.results_document import results_document
from rumpus.results.run_directory import RunDirectory, create
from rumpus.runs.judged_run import judged_run
from rumpus.runs.made_here import note_made, note_written
from rumpus.runs.option import checked, taking
from rumpus.runs.run_options import TRIAL_OPTIONS, TrialOptions
from rumpus.runs.run_settings import command_line
from rumpus.trial_failed import TrialFailed

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
            lines += ["", f"limits: {self.notes}"]
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


@taking(TrialOptions)
def run(given: Mapping[str, Any]) -> Result:
    """Put a recipe on trial: clients use it under faults, and what happened is judged.

    Raises:
        UsageError: something asked for does not exist or cannot be done.
        EnvironmentRefusal: this host does not allow it.
        WorkerCrash: a client's process failed, by an error in the recipe's module, say.
        KeyboardInterrupt: Ctrl-C; the run is brought to its end before, and nothing is left of it.
    """
    names = names_here()
    called = getattr(given["workload"], "name", given["workload"])
    given = checked(given, TRIAL_OPTIONS, spelled="{0.name}")
    usual = "auto" if given.get("service") else TRIAL_OPTIONS["ensemble"].default
    given = {"ensemble": usual, **names.defaults(given, called, ensemble=usual), **given}
    asked = TrialOptions(**given)
    real = asked.ensemble == "docker" or bool(asked.service)
    # A swarm draws the load that nobody asks for; on servers that turn out to be real it lasts as
    # long as it usually does there.
    usual_seconds = DOCKER_SECONDS if real or asked.swarm else SIM_SECONDS
    fixed = ("time_limit",) if asked.time_limit else ()
    asked = replace(asked, time_limit=asked.time_limit or usual_seconds)
    for warning in names.warnings:
        asked.say(f"warning: {warning}")
    done: list[SeedResult] = []
    verdicts: list[Verdict] = []
    for seed in range(asked.seed, asked.seed + asked.seeds):
        settings = names.settings_of(
            {
                **given,
                "argv": (),
                "ensemble": asked.ensemble,
                "time_limit": asked.time_limit,
                "seed": seed,
                "fixed": fixed,
            }
        )
        settings = replace(settings, argv=command_line(settings)[1:])
        with judged_run(settings, asked.say) as judged:
            record, timeline, verdict = judged.judgement
            directory = judged.directory
            kept = asked.keep or verdict.outcome == "violation"
            if kept:
                directory = _kept(directory, settings.runs, record)
                results = results_document(directory.path, record, timeline, verdict)
                directory.finish(record, timeline, verdict, results)
                note_made(directory.path, asked.say)
                note_written(directory.path, asked.say)
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
