"""Leases: no call is answered without one, and none on a handle whose session has ended.

Operations with {session, cached} in their ok value were made on a handle of that session; if
``cached``, they were answered by the client itself.
"""

from bisect import bisect_left

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.timeline.calm import connections
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

JEOPARDY_CALL = Kind(
    "jeopardy-call", "a call was answered from the cache after the client's lease had run out"
)
EXPIRED_HANDLE = Kind(
    "expired-handle",
    "a call succeeded on a handle that was closed, or whose session or file had ended",
    logs=True,
)

SLACK_NS = 100_000_000
"""By how many ns records of connections and servers' clocks may be off: more than they ever are."""


@check("leases", finds=[JEOPARDY_CALL, EXPIRED_HANDLE])
def check_leases(timeline: Timeline) -> CheckResult:
    """Judge the calls that were answered ok; O(n log n).

    - ``jeopardy-call``: a call was answered from the cache although the client had been without a
      connection for more than the session timeout when it was made. The last heartbeat that was
      answered was sent before the connection was lost, and no lease lasts longer than the timeout.
    - ``expired-handle``: a call was answered on a handle of a session that had ended on the servers
      before it was made.
    """
    history = timeline.history
    result = CheckResult(name="leases")
    lost = connections(history, ends=("suspended", "lost"))
    ends = _ends(timeline)
    timeout = int(timeline.session_timeout * 1e9)
    judged = 0
    for operation, done in history.answered():
        call, value = operation.invoke, done.value
        if not isinstance(value, dict) or value.get("session") is None or "cached" not in value:
            continue
        judged += 1
        client = history.caller(operation)
        since = _lost_since(lost[client], call.time)
        if value["cached"] and timeout and since and call.time > since + timeout + SLACK_NS:
            result.anomalies.append(
                anomaly_of(
                    history,
                    "jeopardy-call",
                    f"c{client} was answered from its cache at {at(history, call.time)}, although "
                    f"it had had no connection since {at(history, since)}, for longer than its "
                    f"lease can last",
                    operation,
                )
            )
        end = ends.get(value["session"])
        if end is not None and call.time > end + SLACK_NS:
            result.anomalies.append(
                anomaly_of(
                    history,
                    "expired-handle",
                    f"c{client}'s call at {at(history, call.time)} succeeded on a handle of "
                    f"session {value['session']}, which had ended at {at(history, end)}",
                    operation,
                )
            )
    result.stats = {"calls_on_handles": judged}
    return result


def _ends(timeline: Timeline) -> dict[str, int]:
    """Session -> when it ended (ns), for those of which the servers' logs tell it."""
    if timeline.logs is None:
        return {}
    truth, clock = timeline.logs
    return {
        session: clock.monotonic(life.closed_ms)
        for session, life in truth.sessions().items()
        if life.closed_ms is not None
    }


def _lost_since(changes: list[tuple[int, bool]], time: int) -> int | None:
    """Since when a client has been without a connection at that time; None if it had one."""
    place = bisect_left(changes, (time, True))
    since = None
    while place and not changes[place - 1][1]:
        place -= 1
        since = changes[place][0]
    return since
