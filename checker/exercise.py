"""Whether enough happened for the verdict to mean anything.

A green run in which no fault took hold, or nobody contended, says nothing: it is inconclusive.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from checker.history import History
from checker.verdict import CheckResult, Interval, Requirement

SERVER_FAULTS_ON_LEADERS = frozenset({"kill", "partition"})
CLIENT_FAULTS_THAT_EXPIRE = frozenset({"client-pause", "client-kill", "client-partition"})


@dataclass
class FaultWindow:
    """One fault: nanoseconds of its actions, and whether each was verified.

    ``begun`` to ``ended`` is the widest span in which it can have had effect.
    """

    id: str
    kind: str
    targets: list[str]
    begun: int
    in_force: int | None = None
    healing: int | None = None
    ended: int | None = None
    verified_in_force: bool = False
    verified_healed: bool = False
    detail: str = ""


def fault_windows(history: History) -> list[FaultWindow]:
    """The faults of a run in order of their beginning."""
    windows: dict[str, FaultWindow] = {}
    for operation in history.operations(nemesis=True):
        call, done = operation
        value = call.value or {}
        number = str(value.get("id"))
        after = (done.value or {}) if done is not None else {}
        if call.f == "start":
            windows[number] = FaultWindow(
                id=number,
                kind=value["kind"],
                targets=[str(target) for target in after.get("targets", [])],
                begun=call.time,
                in_force=done.time if done is not None else None,
                verified_in_force=bool(after.get("verified")),
                detail=str(after.get("detail", "")),
            )
        elif call.f == "stop" and number in windows:
            ending = windows[number]
            ending.healing = call.time
            ending.ended = done.time if done is not None else None
            ending.verified_healed = bool(after.get("verified"))
            if after.get("detail"):
                ending.detail = "; ".join(filter(None, [ending.detail, str(after["detail"])]))
        for mended in after.get("healed") or []:
            window = windows.get(str(mended.get("id")))
            if window is not None and window.ended is None and done is not None:
                window.healing, window.ended = call.time, done.time
                window.verified_healed = bool(mended["verified"])
    return sorted(windows.values(), key=lambda window: window.begun)


def check_exercise(
    history: History,
    *,
    happened: Sequence[Requirement],
    expiries: int | None,
    leader_changes: int | None,
    kinds: Collection[str],
    directed: bool,
    expired: str = "expiries while holding",
) -> CheckResult:
    """Account for what happened.

    Args:
        history: the run.
        happened: what of a workload's own must have happened, contended handovers say.
        expiries: sessions that expired when it mattered, while holding say; None when the
            servers' logs are not at hand.
        leader_changes: changes of the ensemble's leader, None likewise.
        kinds: the kinds of fault that were asked for.
        directed: whether the plan came from a person, who may have left out what random plans
            always contain (a fault on the leader, an expiry of the holder).
        expired: what ``expiries`` counts, in words.
    """
    result = CheckResult(name="exercise")
    windows = fault_windows(history)
    need = result.requirements.append
    result.requirements += happened
    for kind in sorted({*kinds, *(window.kind for window in windows)}):
        of_kind = [window for window in windows if window.kind == kind]
        proven = [w for w in of_kind if w.verified_in_force and w.verified_healed]
        need(
            Requirement(
                name=f"{kind}: verified in force and healed",
                needed=max(1, len(of_kind)),
                observed=len(proven),
            )
        )
    if windows:
        times = sorted(
            operation.completion.time
            for operation in history.operations()
            if operation.completion is not None
        )
        inside = [_count(times, w.begun, w.ended or history.end) for w in windows]
        need(
            Requirement(
                name="fault windows with operations inside",
                needed=len(windows),
                observed=sum(count > 0 for count in inside),
            )
        )
    if not directed and CLIENT_FAULTS_THAT_EXPIRE & set(kinds):
        need(Requirement(name=expired, needed=1, observed=expiries or 0))
    if not directed and SERVER_FAULTS_ON_LEADERS & set(kinds):
        need(Requirement(name="leader changes", needed=1, observed=leader_changes or 0))
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
    }
    return result


def _count(times: list[int], start: int, end: int) -> int:
    return bisect_left(times, end + 1) - bisect_left(times, start)
