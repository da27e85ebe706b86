"""Plans a night: from its file, the project's names and what nights before have seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from rumpus.campaigns.rulings import NO_RULINGS, Rulings, load_rulings
from rumpus.nights.canaries import Canary, known_mistakes, own_canary, rotated
from rumpus.nights.expected import Expected, load_expected
from rumpus.nights.kept_cases import Kept, allowed_cases, kept_cases
from rumpus.nights.memory.store_rows import SubjectPast
from rumpus.nights.night_commands import fitting
from rumpus.nights.night_file import Command, NightFile
from rumpus.nights.records import Ensemble, RunRow, Trouble
from rumpus.nights.schedule import Schedule, longest_s, rank
from rumpus.nights.subjects import OnTrial, on_trial
from rumpus.project_names import Names
from rumpus.runs.shard import Shard
from rumpus.trust import places_of
from rumpus.workloads.registry import WORKLOADS

USUAL_CASE_S: Final = 1.0
"""How long the run of a case is taken to take, if no night has performed it."""

REASONS: Final = ("new or changed", "failed last", "not run for longest")
"""Why a subject has its place, by the first part of its ``rank``."""


@dataclass(frozen=True, kw_only=True)
class NightPlan:
    """What a night is to do.

    Attributes:
        file: what was asked for.
        subjects: what is on trial, in order.
        past: what is known of them.
        cases: the kept cases, in order.
        refused: cases that are not performed, as nobody has trusted their code; and why.
        to_show: those that are to show their failures; of all parts of the night.
        canaries: known mistakes, in order.
        expected: failures that are expected.
        rulings: which failures are one, and which are not, as persons have decided.
        worlds: where something is to be performed.
        notes: what people should know of it.
        troubles: what was asked for and cannot be.
        idle: why there is nothing to do; empty if there is something.
        commands: those of the file that fit into the budget.
        reserved: the part of the budget that is kept for them, in seconds.
        left_out: what is said of the others.
    """

    file: NightFile
    subjects: Sequence[OnTrial]
    past: Mapping[str, SubjectPast]
    cases: Sequence[Kept]
    refused: Sequence[tuple[Kept, str]] = ()
    to_show: Sequence[Kept]
    canaries: Sequence[Canary]
    expected: Sequence[Expected]
    rulings: Rulings = NO_RULINGS
    worlds: Sequence[Ensemble]
    notes: Sequence[str] = ()
    troubles: Sequence[Trouble] = ()
    idle: str = ""
    commands: Sequence[Command] = ()
    reserved: float = 0.0
    left_out: Sequence[str] = ()

    def schedule(
        self, *, budget: float, threads: dict[Ensemble, int], random: Random, done: set[str]
    ) -> Schedule:
        """The order of its pieces.

        Args:
            budget: seconds.
            threads: world -> how many pieces are performed there at once.
            random: seeds and choices.
            done: names of cases and canaries that had their turn before it was resumed.
        """
        return Schedule(
            budget=budget,
            threads=threads,
            random=random,
            cases=[kept.piece() for kept in self.cases if kept.name not in done],
            canaries=[each for each in self.canaries if each.name not in done],
            canary_share=self.file.canaries.share,
            subjects=[
                (on, 1 if self.reason(on) == REASONS[2] else len(on.kinds)) for on in self.subjects
            ],
        )

    def reason(self, on: OnTrial) -> str:
        """Why a subject has its place."""
        return REASONS[rank(on, self.past.get(on.subject.key))[0]]


def make_plan(
    file: NightFile,
    path: Path,
    names: Names,
    *,
    past: Mapping[str, SubjectPast],
    last: Sequence[RunRow],
    random: Random,
    why_no_engine: str | None,
    shard: Shard | None = None,
    canaries_in: Path | None = None,
) -> NightPlan:
    """Plan a night.

    Args:
        file: what was asked for.
        path: of the file, from whose directory its paths count.
        names: the project's.
        past: subject -> what is known of it.
        last: the runs of the last night.
        random: the order of canaries.
        why_no_engine: why real servers cannot be had; None if they can.
        shard: which part of the night this is.
        canaries_in: where modules of canaries are written; None: there are none of these.

    Raises:
        UsageError: something that the file names does not exist.
        StoreError: a canary's module cannot be written.
    """
    place = path.parent
    cases, wrong = kept_cases([place / each for each in file.cases])
    subjects = on_trial(file.jobs, names, path)
    subjects.sort(key=lambda on: rank(on, past.get(on.subject.key)))
    troubles = [Trouble(kind="usage", what=words) for words in wrong]
    canaries = _canaries(file, subjects, random, canaries_in)
    to_show = [kept for kept in cases if kept.to_show]
    if shard is not None:  # by name: each machine may remember other nights
        cases = [each for number, each in enumerate(cases) if number % shard.of == shard.index]
        canaries = [e for number, e in enumerate(canaries) if number % shard.of == shard.index]
    cases, refused = allowed_cases(
        _in_order(cases, last), places_of(on.settings for on in subjects)
    )
    troubles += [Trouble(kind="usage", what=f"case {kept.name}: {why}") for kept, why in refused]
    commands, reserved, left_out = fitting(file.commands, file.seconds)
    notes = []
    real = [on for on in subjects if on.subject.world == "docker"]
    real_cases = [kept for kept in cases if kept.piece().world == "docker"]
    least = min(map(longest_s, real), default=0.0)
    if why_no_engine is not None and (real or real_cases):
        asked = f"{len(real)} recipes and {len(real_cases)} cases"
        what = f"real servers were asked for, for {asked}: {why_no_engine}"
        troubles.append(Trouble(kind="world", what=what, runs=len(real) + len(real_cases)))
        cases = [kept for kept in cases if kept not in real_cases]
    elif file.seconds - reserved < least:
        notes.append(f"real servers: a run on them may take {least:.0f} s, more than the budget")
    else:
        least = 0.0
    if why_no_engine is not None or least:
        subjects = [on for on in subjects if on not in real]
        real = []
    worlds: list[Ensemble] = ["sim", "docker"]
    if not real and (why_no_engine is not None or not real_cases):
        worlds.remove("docker")
    rulings = place / file.rulings
    return NightPlan(
        file=file,
        subjects=subjects,
        past=past,
        cases=cases,
        refused=refused,
        to_show=to_show,
        canaries=canaries,
        expected=load_expected(place / file.expected),
        rulings=load_rulings(rulings, source="rulings") if rulings.exists() else NO_RULINGS,
        worlds=worlds,
        notes=notes,
        troubles=troubles,
        commands=commands,
        reserved=reserved,
        left_out=left_out,
    )


def with_notes(plan: NightPlan, *notes: str) -> NightPlan:
    """The plan with further notes; empty ones are left out."""
    return replace(plan, notes=[*plan.notes, *filter(None, notes)])


def _in_order(cases: Sequence[Kept], last: Sequence[RunRow]) -> list[Kept]:
    """Cases: first those that were not as they should be, then those that had no turn."""
    found = {run.name: run.found for run in last if run.role == "case"}

    def place(kept: Kept) -> int:
        if kept.name not in found:
            return 1
        return 2 if found[kept.name] in ("shown", "mended") else 0

    return sorted(cases, key=place)


def _canaries(
    file: NightFile, subjects: Sequence[OnTrial], random: Random, place: Path | None
) -> list[Canary]:
    asked = file.canaries
    if not asked.share:
        return []
    families = {on.subject.workload for on in subjects}
    if asked.families == "all":
        families = {*WORKLOADS}
    elif asked.families:
        families = {*asked.families}
    own: list[Canary] = []
    if asked.own and place is not None:
        made = (own_canary(on, place) for on in subjects if not on.subject.kazoo)
        own = [each for each in made if each is not None]
    return [*random.sample(own, len(own)), *rotated(known_mistakes(families), random)]
