"""Watched views (caches kept by watches): do they become what the servers hold, or ever go back?

``converge`` operations of the final phase wait, at most for a bound and while no client writes,
until the client's view shows what a fresh read of the servers shows. Their value has ``seen`` (the
view) and ``there`` (the read). ``look`` operations of the load return what a view shows: ``nodes``
is name -> zxid of the last change that was seen (null if none), ``view`` identifies the view among
those of its client.
"""

from typing import Any

from rumpus.checker.anomalies import anomaly_of, seconds_waited
from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import healed_phase
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline, count_lost_sessions
from rumpus.checker.verdict import Anomaly, CheckResult, Kind

STALE_VIEW = Kind(
    "stale-view", "a watched view did not converge to the state on the servers", timed=True
)
SESSION_ORDER = Kind("session-order", "a session saw the state go back")


@check("convergence", finds=[STALE_VIEW])
def check_convergence(timeline: Timeline) -> CheckResult:
    """Judge the final phase: ``stale-view`` for each view that did not become what is there.

    Every client converges, some in several rounds. If all reads of a client went unanswered, the
    result is unknown.
    """
    history = timeline.history
    result = CheckResult(name="convergence")
    phase = healed_phase(history, result, "views asked to converge once every fault was healed")
    if phase is None:
        return result
    told: set[int] = set()
    silent: dict[int, Operation] = {}
    waits: list[float] = []
    for operation in phase.operations:
        if operation.invoke.f != "converge":
            continue
        client = history.caller(operation)
        if operation.outcome != "ok" or operation.completion is None:
            silent[client] = operation
            continue
        told.add(client)
        value = operation.completion.value
        waits.append((operation.completion.time - operation.invoke.time) / 1e6)
        if value["seen"] != value["there"]:
            result.anomalies.append(_stale(history, operation, value))
    phase.asked.observed = len(told | silent.keys())
    for client in sorted(silent.keys() - told):
        why = (silent[client].completion or silent[client].invoke).error or "no answer"
        result.unknown.append(f"c{client} could not read what its view should show ({why})")
    result.stats = {"converged": len(waits) - len(result.anomalies), "stale": len(result.anomalies)}
    if waits:
        result.stats["longest_ms"] = round(max(waits), 1)
    return result


def _stale(history: History, operation: Operation, value: dict[str, Any]) -> Anomaly:
    waited, client = seconds_waited(operation), history.caller(operation)
    return anomaly_of(
        history,
        "stale-view",
        f"with every fault healed and no more writes, c{client}'s view still showed "
        f"{_differing(value['seen'], value['there'])} after {waited:.1f} s",
        operation,
    )


def _differing(seen: Any, there: Any) -> str:
    if not isinstance(seen, dict) or not isinstance(there, dict):
        return f"{seen!r} although the servers held {there!r}"
    apart = sorted(
        name
        for name in {*seen, *there}
        if (name in seen) != (name in there) or seen.get(name) != there.get(name)
    )
    shown = {name: seen.get(name, "nothing") for name in apart}
    held = {name: there.get(name, "nothing") for name in apart}
    return f"{shown} although the servers held {held}"


@check(
    "view order",
    finds=[SESSION_ORDER],
    least=[Least(20, "looks_with_news", "looks that showed something new")],
)
def check_view_order(timeline: Timeline) -> CheckResult:
    """Judge the load: ``session-order`` for each view that went back to an earlier change.

    Looks of one client come one after another, so that their order is that of the calls.
    """
    history = timeline.history
    result = CheckResult(name="view order")
    latest: dict[tuple[int, Any, str], tuple[int, Operation]] = {}
    shown: dict[tuple[int, Any], dict[str, Any]] = {}
    news = 0
    for operation, done in history.answered("look"):
        client = history.caller(operation)
        view = done.value["view"]
        nodes: dict[str, int | None] = done.value["nodes"] or {}
        news += shown.get((client, view), {}) != nodes
        shown[client, view] = nodes
        for name, zxid in nodes.items():
            if zxid is None:
                continue
            before = latest.get((client, view, name))
            if before is not None and zxid < before[0]:
                result.anomalies.append(
                    anomaly_of(
                        history,
                        "session-order",
                        f"c{client}'s view of {name} went back from zxid 0x{before[0]:x} "
                        f"to 0x{zxid:x}",
                        before[1],
                        operation,
                    )
                )
            latest[client, view, name] = (zxid, operation)
    result.stats = {"looks_with_news": news}
    return result


def count_expiries(timeline: Timeline) -> int:
    """How many of the clients' sessions expired; without logs, how many clients saw as lost."""
    if timeline.truth is None:
        return count_lost_sessions(timeline.history)
    ours = timeline.history.clients_of_sessions()
    sessions = timeline.truth.sessions().values()
    return sum(life.expired and life.session in ours for life in sessions)
