"""Whether enough happened for the verdict to mean anything.

A run without anomalies in which no fault took effect, or no client contended, proves nothing: it
is inconclusive.

Each kind of fault that was asked for must count at least once. A fault counts if it was verified
in force, if a call was open while it lasted, and if it was verified healed. If one fault of a kind
counts, others of the kind need not (a server may be slow to come back, say). In a punctual plan,
where faults overlap and some are too short to be seen, one fault of any kind is enough. The report
shows how many faults there were, and how many counted.

A function must be answered, too. If all calls of one ended with an outcome that nobody knows, what
it was meant to put to the test was not: it raises whenever it is called, for example.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from rumpus.checker.history import History
from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.timeline.timeline import Effect, Timeline
from rumpus.checker.verdict import CheckResult, Requirement

UNANSWERED = 10
"""So many calls of a function are asked to have one answer: fewer may have been unlucky."""

AS_ASKED = "Leaves"
"""The error of a client that leaves because it was asked to: nothing is wrong with such a call."""


def check_exercise(
    timeline: Timeline,
    *,
    happened: Sequence[Requirement],
    expiries: int | None,
    effects: Collection[Effect],
    expired: str,
) -> CheckResult:
    """Check that enough happened, and count what did.

    A plan that a person has written need have no effect: it may leave out the faults of the leader
    and the holder that random plans have.

    Args:
        timeline: the run.
        happened: what the workload requires to have happened, contended handovers for example.
        expiries: sessions that expired when it mattered, while holding for example; None if
            only the servers' logs could tell, and they are not at hand.
        effects: what the run's faults must have caused.
        expired: what ``expiries`` counts, in words.
    """
    faults = timeline.asked
    effects = () if faults.directed else {*effects} - {*faults.impossible}
    leader_changes = timeline.leader_changes
    result = CheckResult(name="exercise")
    need = result.requirements.append
    result.requirements += happened
    proven = _proven(timeline)
    result.requirements += _of_faults(timeline, proven)
    _answered(timeline.history, result)
    if "expiry" in effects:
        if expiries is None:
            result.unknown.append(f"without the servers' logs the {expired} cannot be counted")
        else:
            need(Requirement(expired, 1, expiries))
    if "leader change" in effects:
        need(Requirement("leader changes", 1, leader_changes))
    if effects and timeline.truth is not None and not timeline.truth.committed:
        result.unknown += [f"the servers' logs: {why}" for why in timeline.truth.reasons]
    result.stats = {
        **{requirement.name: requirement.observed for requirement in happened},
        expired: expiries,
        "leader changes": leader_changes,
        "faults": len(timeline.faults),
        "faults in force, with operations inside, and healed": len(proven),
    }
    return result


def _proven(timeline: Timeline) -> list[FaultWindow]:
    """The faults that were in force, with operations inside, and healed."""
    operations = timeline.history.operations()
    called = sorted(each.invoke.time for each in operations)
    returned = sorted(each.completion.time for each in operations if each.completion is not None)
    return [
        window
        for window in timeline.faults
        if window.verified_in_force
        and window.verified_healed
        # A call that was open throughout the fault counts too: a stalled holder blocks all calls.
        and bisect_right(called, timeline.end_of(window)) > bisect_left(returned, window.begun)
    ]


def _of_faults(timeline: Timeline, proven: Sequence[FaultWindow]) -> Iterator[Requirement]:
    """That each kind of fault was proven; of a plan that is punctual, that one was."""
    faults = timeline.asked
    asked = sorted({*faults.kinds, *(window.kind for window in timeline.faults)})
    if faults.punctual and asked:
        yield Requirement("a fault in force, with operations inside, and healed", 1, len(proven))
        return
    for kind in asked:
        found = sum(window.kind == kind for window in proven)
        yield Requirement(f"{kind}: in force, with operations inside, and healed", 1, found)


def _answered(history: History, result: CheckResult) -> None:
    """Ask of each function that was called often that some call was answered, and tell if none was.

    The need has one name in all runs, as those of a trial are taken together: what one seed leaves
    open another may show.
    """
    answered: Counter[str] = Counter()
    errors: dict[str, Counter[str]] = {}
    for operation in history.operations():
        f, done = operation.invoke.f, operation.completion
        if done is None:
            continue
        error = (done.error or "an outcome that nobody knows").partition(":")[0]
        if done.type != "info" or error == AS_ASKED:
            answered[f] += 1
        else:
            errors.setdefault(f, Counter())[error] += 1
    for f in sorted({*answered, *errors}):
        unknown = errors.get(f, Counter())
        if answered[f] + unknown.total() < UNANSWERED:
            continue
        result.requirements.append(Requirement(f"answered calls of {f}", 1, answered[f]))
        if not answered[f]:
            error, _ = unknown.most_common(1)[0]
            told = f"what {f} does: none of its {unknown.total()} calls was answered, most: {error}"
            result.unjudged.append(told)
