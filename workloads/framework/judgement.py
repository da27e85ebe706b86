"""The verdict on a run, by its timeline: what the checks found, and whether enough happened."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from rumpus.checker.check import Check, all_kinds, declaration, perform
from rumpus.checker.every_run.errors import UNEXPECTED_ERROR, check_errors
from rumpus.checker.every_run.exercise import check_exercise
from rumpus.checker.every_run.late_host import leave_undecided
from rumpus.checker.history import final_phase
from rumpus.checker.measures import measure
from rumpus.checker.server_promises.answers import check_server_answers
from rumpus.checker.server_promises.events import check_server_events
from rumpus.checker.server_promises.limits import check_server_limits
from rumpus.checker.server_promises.replay import incomplete
from rumpus.checker.server_promises.rules import check_server_rules
from rumpus.checker.server_promises.sessions import check_server_sessions
from rumpus.checker.server_promises.state import check_server_state
from rumpus.checker.timeline.holds import Words
from rumpus.checker.timeline.timeline import Asked, Effect, Timeline
from rumpus.checker.verdict import CheckResult, Kind, Requirement, Verdict, judge
from rumpus.recipes.catalogue_entry import CatalogueEntry


class Family(Protocol):
    """What judging needs of a workload; see ``Workload``."""

    anomalies: ClassVar[Mapping[str, str]]
    hazards: ClassVar[Collection[str]]
    catalogue: ClassVar[Mapping[str, Any]]
    needs: ClassVar[Sequence[Callable[..., Requirement | None]]]
    expired: ClassVar[str]
    plain: ClassVar[bool]
    contended: ClassVar[bool]

    @property
    def words(self) -> Words:
        """The operations that begin and end a hold."""

    def judged_by(self) -> Sequence[Check]:
        """The checks, in order."""

    def expiries(self, timeline: Timeline, results: Sequence[CheckResult]) -> int | None:
        """How many sessions expired when it mattered."""

    def effects_of(self, asked: Asked) -> set[Effect]:
        """What the faults that were asked for must have caused."""

    @property
    def has_own_needs(self) -> bool:
        """Whether a class of another repository says what must have happened: then nothing else."""

    def is_own_check(self, check: Any) -> bool:
        """Whether a check, or a class, is one of another repository."""


ON_SERVERS: Sequence[Check] = (
    check_server_state,
    check_server_rules,
    check_server_answers,
    check_server_events,
    check_server_sessions,
    check_server_limits,
)
"""The checks of the servers, which every run has, before those of its family."""

OF_SERVERS = frozenset(
    kind.name for each in ON_SERVERS for kind in declaration(each).finds if kind.about == "servers"
)
"""Kinds of anomaly that ZooKeeper itself promises to prevent, whatever the recipe."""


OF_PROGRAMS = frozenset({UNEXPECTED_ERROR.name})
"""What every recipe of the catalogues promises beside what it says, unless its calls are those of
plain znodes: its callers know nothing of its znodes, and of mistakes in it."""


def findings(workload: Family, timeline: Timeline, judged: Sequence[Check]) -> list[CheckResult]:
    """What checks find in a run, in order, and whether enough happened.

    The kinds of each result say what its anomalies mean, and which of them count whatever the
    recipe promises.
    """
    results: list[CheckResult] = []
    least = []
    for each in judged:
        found = perform(each, timeline, results)
        if found is None:
            continue
        _name_kinds(workload, timeline, found, own=workload.is_own_check(each))
        results.append(found)
        least += [
            Requirement(need.what, need.number, count)
            for need in (() if workload.has_own_needs else declaration(each).least)
            if (count := _stat(found, need.stat)) is not None
        ]
    happened = [need(timeline.history, results) for need in workload.needs]
    exercise = check_exercise(
        timeline,
        happened=[*least, *(each for each in happened if each is not None)],
        expiries=workload.expiries(timeline, results),
        effects=workload.effects_of(timeline.asked),
        expired=workload.expired,
    )
    return [*results, exercise]


def _stat(result: CheckResult, name: str) -> int | None:
    if name not in result.stats:
        raise LookupError(f"the check {result.name!r} does not count {name!r}, which it needs")
    count: int | None = result.stats[name]
    return count


def _name_kinds(workload: Family, timeline: Timeline, result: CheckResult, *, own: bool) -> None:
    """Fill in what a result's kinds mean, and which of them are violations in any case."""
    found = {anomaly.kind for anomaly in result.anomalies}
    for kind in sorted(found - result.kinds.keys()):
        if kind in workload.anomalies:
            result.kinds[kind] = Kind(kind, workload.anomalies[kind])
        elif kind in all_kinds():
            result.kinds[kind] = all_kinds()[kind]
    if timeline.damaged:
        return
    always = found if own else {kind for kind in found if kind not in all_kinds()}
    result.always = sorted(always - {*workload.hazards})


def judge_timeline(
    timeline: Timeline, workload: Family, recipe: str, questions: Sequence[CheckResult] = ()
) -> Verdict:
    """Have a workload judge a run, and add what every run is asked, and what remains undecided.

    Args:
        timeline: the run.
        workload: which family it is.
        recipe: whose promises they are; this version need not know it.
        questions: checks that are undecided already.
    """
    promised = frozenset(timeline.promises.prevents)
    if not (timeline.lossy or timeline.damaged):
        promised |= OF_SERVERS
    made = workload.catalogue.get(recipe)
    servers_on_trial = workload.plain and made is not None and not getattr(made, "faulty", False)
    if isinstance(made, CatalogueEntry) and not workload.plain:
        promised |= OF_PROGRAMS
    judged = [*ON_SERVERS, *workload.judged_by(), check_errors]
    checks = [
        *questions,
        *findings(workload, timeline, judged),
        *_open_questions(timeline, workload, judged),
        *(_of_servers_files(timeline) if servers_on_trial and not timeline.lossy else ()),
    ]
    leave_undecided(timeline, checks, promised)
    verdict = judge(checks, promised, strict=timeline.strict)
    if servers_on_trial:
        verdict.blamed = "servers"
    per_release = verdict.stats("herd").get("per_release")
    verdict.measures = measure(timeline, per_release=per_release)
    return verdict


def _of_servers_files(timeline: Timeline) -> Iterator[CheckResult]:
    """What servers that are on trial themselves have on their disks, where that is not known.

    A recipe can be judged by what its clients saw. Of servers that would say too much: what they
    lost, nobody may have asked for.
    """
    truth = timeline.truth
    if truth is None:
        return
    unknown = [what] if (what := incomplete(truth)) else []
    unknown += [
        f"the tree of {each.name} was not compared with the others ({each.unread})"
        for each in truth.replicas
        if each.differing is None and not unknown
    ]
    if unknown:
        yield CheckResult(name="the servers' files", unknown=unknown)


def _open_questions(
    timeline: Timeline, workload: Family, judged: Sequence[Check]
) -> list[CheckResult]:
    """What is undecided because a part of the timeline is missing, or because nobody looks."""
    found = []
    kinds = [kind for each in judged for kind in declaration(each).finds]
    sought = {*workload.anomalies, *(kind.name for kind in kinds)}
    unsought = timeline.promises.prevents - sought
    # Recipes of another repository's workload promise all there is, unless they say otherwise.
    if unsought and not workload.is_own_check(type(workload)):
        what = f"{', '.join(sorted(unsought))}: promised, and no check of this family looks for it"
        found.append(CheckResult(name="promises", unjudged=[what]))
    untold = {kind.name for kind in kinds if kind.logs} & timeline.promises.prevents
    if untold and timeline.logs is None:
        what = f"these are needed to rule out {', '.join(sorted(untold))}"
        found.append(CheckResult(name="the servers' logs", unknown=[what]))
    if final_phase(timeline.history) is None:
        asked = Requirement("final phase, to ask who can proceed", 1, 0)
        found.append(CheckResult(name="final phase", requirements=[asked]))
    return found
