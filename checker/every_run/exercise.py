"""Whether enough happened for the verdict to mean anything.

A run without anomalies in which no fault took effect, or no client contended, proves nothing: it
is inconclusive.

Each kind of fault that was asked for must count at least once. A fault counts if it was verified
in force, if a call was open while it lasted, and if it was verified healed. If one fault of a kind
counts, others of the kind need not (a server may be slow to come back, say). In a punctual plan,
where faults overlap and some are too short to be seen, one fault of any kind is enough. The report
shows how many faults there were, and how many counted.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from typing import Literal

from rumpus.checker.history import History
from rumpus.checker.timeline.faults import fault_windows
from rumpus.checker.timeline.states import Interval
from rumpus.checker.verdict import CheckResult, Requirement

Effect = Literal["expiry", "leader change"]
"""The effects that the faults of a random plan are meant to have."""


def check_exercise(
    history: History,
    *,
    happened: Sequence[Requirement],
    expiries: int | None,
    leader_changes: int,
    kinds: Collection[str],
    effects: Collection[Effect],
    expired: str,
    any_kind: bool = False,
) -> CheckResult:
    """Check that enough happened, and count what did.

    Args:
        history: the run.
        happened: what the workload requires to have happened, contended handovers for example.
        expiries: sessions that expired when it mattered, while holding for example; None if
            only the servers' logs could tell, and they are not at hand.
        leader_changes: changes of the ensemble's leader.
        kinds: the kinds of fault that were asked for.
        effects: what these faults must have caused. Empty for a plan that a person has written:
            it may leave out the faults of the leader and the holder that random plans have.
        expired: what ``expiries`` counts, in words.
        any_kind: whether one fault of any kind is enough, in place of one of each kind.
    """
    result = CheckResult(name="exercise")
    windows = fault_windows(history)
    need = result.requirements.append
    result.requirements += happened
    operations = history.operations()
    called = sorted(each.invoke.time for each in operations)
    returned = sorted(each.completion.time for each in operations if each.completion is not None)
    proven = [
        window
        for window in windows
        if window.verified_in_force
        and window.verified_healed
        # A call that was open throughout the fault counts too: a stalled holder blocks all calls.
        and bisect_right(called, window.ended or history.end) > bisect_left(returned, window.begun)
    ]
    asked = sorted({*kinds, *(window.kind for window in windows)})
    if any_kind and asked:
        need(Requirement("a fault in force, with operations inside, and healed", 1, len(proven)))
        asked = []
    for kind in asked:
        need(
            Requirement(
                f"{kind}: in force, with operations inside, and healed",
                1,
                sum(window.kind == kind for window in proven),
            )
        )
    if "expiry" in effects:
        if expiries is None:
            result.unknown.append(f"without the servers' logs the {expired} cannot be counted")
        else:
            need(Requirement(expired, 1, expiries))
    if "leader change" in effects:
        need(Requirement("leader changes", 1, leader_changes))
    result.intervals = [
        Interval(
            kind="fault",
            start=window.begun,
            end=window.ended or history.end,
            label=f"{window.kind} {', '.join(window.targets)}".strip(),
        )
        for window in windows
    ]
    result.stats = {
        **{requirement.name: requirement.observed for requirement in happened},
        expired: expiries,
        "leader changes": leader_changes,
        "faults": len(windows),
        "faults in force, with operations inside, and healed": len(proven),
    }
    return result


def count_lost_sessions(history: History) -> int:
    """How many sessions clients were told to have lost: at most as many as expired.

    The sessions of killed clients expire too, but no client is told of that.
    """
    return len({op.value.get("session") for op in history.events("session", "lost")} - {None})


def count_elections(history: History) -> int:
    """How many times a server was seen to begin to lead; at least 1."""
    seen = [op.value["leader"] for op in history.events("control", "leader")]
    return max(1, sum(leader is not None for leader in seen))
