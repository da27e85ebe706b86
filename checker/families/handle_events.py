"""Events of handles: of their session, of the end of their file, and of requests for their lock.

Operations:

- ``news``, ok: {session, standing, told, missing, failovers, losses}: what a handle was told of its
  session, in order (``jeopardy``, ``safe``, ``expired``), what it was not told of in time, if
  anything, and of how many failovers, after at most how many losses of the connection;
- ``gone``, ok and, if it timed out, fail: {gone}: the wait for the event that the file of our
  handle, of that instance, was deleted; ``recreate``, ok: {instance} deletes the file and creates
  another one;
- ``heed``: a holder's wait for the event that somebody else waits for the lock.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import Any, Final

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.every_run.timeouts import TIMED_OUT
from rumpus.checker.families.missed_changes import FALSE_EVENT, MISSED_EVENT, quiet
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.calm import calm_time, connections
from rumpus.checker.timeline.holds import Hold
from rumpus.checker.timeline.ownership import CLOCK_SLACK_NS
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult

SETTLED_NS: Final = 1_000_000_000
"""How long nothing may have disturbed a client for its events to come at once."""


@check("handle events", finds=[MISSED_EVENT, FALSE_EVENT])
def check_handle_events(timeline: Timeline, bound_s: float) -> CheckResult:
    """Judge what handles were told (``missed-event``, ``false-event``).

    - A handle was told of more failovers than its client's connection was lost: false.
    - A handle was told that its session is safe, or in jeopardy, twice in a row; or it was not told
      of the session's standing, or of a new connection, although its client was not frozen.
    - Its file had been deleted, as an acknowledged ``recreate`` shows, for longer than the bound,
      in which the client ran and its connection did not change; nothing was told.
    - A contender in conflict with a holder was in the queue during the whole wait of the holder,
      and nothing disturbed that client during the wait, nor just before (``SETTLED_NS``).

    Args:
        timeline: the run.
        bound_s: seconds.

    Cost: O(n log n), and O(m) for each ``heed`` that timed out, with m contenders.
    """
    history = timeline.history
    result = CheckResult(name="handle events")
    bound = int(bound_s * 1e9)
    news = gone = conflicts = 0
    for operation, done in history.answered("news", "gone", "heed"):
        news += done.f == "news"
        gone += done.f == "gone"
        conflicts += done.f == "heed"
        if done.f == "news":
            result.anomalies += _misinformed(timeline, operation)
    result.anomalies += _unknown_ends(timeline, bound)
    result.anomalies += _unheeded(timeline)
    result.stats = {"news": news, "ends_told": gone, "conflicts_told": conflicts}
    return result


def _misinformed(timeline: Timeline, operation: Operation) -> Iterator[Anomaly]:
    """What is wrong with what a handle was told, by a ``news``."""
    history, done = timeline.history, operation.done
    handle = f"c{history.caller(operation)}'s handle was told"
    by = f"by {at(history, done.time)}"
    failovers, losses = done.value["failovers"], done.value["losses"]
    if failovers > losses:
        words = (
            f"{handle} of {failovers} failovers {by}, but the connection was lost {losses} times"
        )
        yield anomaly_of(history, "false-event", words, operation)
    if untold := _untold(timeline, operation):
        told = ", ".join(done.value["told"]) or "nothing"
        words = f"{handle} {told} of its session {by}, but not of: {untold}"
        yield anomaly_of(history, "missed-event", words, operation)


def _untold(timeline: Timeline, operation: Operation) -> str | None:
    """What a handle was not told of, by a ``news``."""
    value: Any = operation.done.value
    for one, next_one in pairwise(["safe", *value["told"]]):
        if one == next_one:
            return "jeopardy" if one == "safe" else "safe"
    frozen = timeline.pauses.get(timeline.history.caller(operation), [])
    ran = all(end < operation.invoke.time or start > operation.done.time for start, end in frozen)
    return value["missing"] if ran else None


def _in_vain(history: History, f: str) -> Iterator[Operation]:
    """The operations of a name that timed out."""
    for operation in history.operations():
        done = operation.completion
        if operation.invoke.f == f and done is not None and done.error == TIMED_OUT:
            yield operation


def _unknown_ends(timeline: Timeline, bound: int) -> list[Anomaly]:
    """Waits for the end of a file that timed out long after it had been deleted."""
    history = timeline.history
    changes = connections(history, ends=("suspended", "lost", "started", "exited"))
    creations = [operation for operation, _ in history.answered("recreate")]
    found = []
    for operation in _in_vain(history, "gone"):
        call, done = operation.invoke, operation.done
        client, since = history.caller(call), done.time - bound
        later = [
            each
            for each in creations
            if each.done.value["instance"] > done.value["gone"] and each.done.time <= since
        ]
        if call.time > since or not later:
            continue
        if quiet(timeline, changes[client], client, since, done.time):
            first = min(later, key=lambda each: each.done.time)
            found.append(
                anomaly_of(
                    history,
                    "missed-event",
                    f"c{client} waited for the end of its file, instance {done.value['gone']}, and "
                    f"gave up, although it had been deleted by {at(history, first.done.time)}",
                    first,
                    operation,
                )
            )
    return found


def _unheeded(timeline: Timeline) -> list[Anomaly]:
    """Holders that waited in vain for the event of a contender in conflict with them."""
    history = timeline.history
    contenders = _contenders(timeline)
    found = []
    for operation in _in_vain(history, "heed"):
        call, done = operation.invoke, operation.done
        client, since = history.caller(call), call.time - SETTLED_NS
        hold = _hold_during(timeline, client, operation)
        calm = calm_time(timeline.disturbances[client], since, done.time)
        if hold is None or calm < done.time - since:
            continue
        waiting = next(
            (
                path
                for path, came, went, shared in contenders
                if came <= call.time
                and went >= done.time
                and path != hold.node
                and not (shared and hold.shared)
            ),
            None,
        )
        if waiting is not None:
            found.append(
                anomaly_of(
                    history,
                    "missed-event",
                    f"c{client} held the lock, and waited until {at(history, done.time)} for the "
                    f"event that somebody else wants it, although {waiting} was in the queue from "
                    f"before {at(history, call.time)} on",
                    operation,
                )
            )
    return found


def _contenders(timeline: Timeline) -> list[tuple[str, int, float, bool]]:
    """Contenders' znodes: path, when they came and went (ns), and whether they are shared."""
    if timeline.logs is None or timeline.line is None:
        return []
    truth, clock = timeline.logs
    line = timeline.line
    return [
        (
            life.path,
            clock.monotonic(life.created_ms) + CLOCK_SLACK_NS,
            inf if life.deleted_ms is None else clock.monotonic(life.deleted_ms) - CLOCK_SLACK_NS,
            bool(line.shared) and line.shared in life.path,
        )
        for life in truth.znodes(line.path)
        if line.mark in life.path.rpartition("/")[2]
    ]


def _hold_during(timeline: Timeline, client: int, operation: Operation) -> Hold | None:
    """The client's hold that it believed in from the call of an operation to its return."""
    return next(
        (
            hold
            for hold in timeline.holds
            if hold.client == client
            and any(
                start <= operation.invoke.time and operation.done.time <= end
                for start, end in hold.beliefs
            )
        ),
        None,
    )
