"""What handles of files may be used for: their instance, their mode, and access control lists.

Operations:

- ``misuse`` {state}, ok: {answered}: the calls of a handle in that state that were answered,
  although each of them should have been refused;
- with {key, opened} in their ok value: a call on a handle of the instance ``opened`` of a file;
  ``recreate`` also tells the ``instance`` that it made;
- with {acl, allowed} in their ok value: the access control list that a file was found to have, and
  those that it may have.
"""

from bisect import bisect_left
from itertools import accumulate
from typing import Any, Final

from rumpus.checker.anomalies import anomaly_of, at
from rumpus.checker.check import check
from rumpus.checker.families.leases import EXPIRED_HANDLE
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import Anomaly, CheckResult
from rumpus.checker.znodes.access_rules import UNAUTHORISED_ACCESS

DEAD: Final = ("closed", "poisoned", "holding, poisoned")
"""States of a handle in which every call is refused."""


@check("handle rights", finds=[EXPIRED_HANDLE, UNAUTHORISED_ACCESS])
def check_handle_rights(timeline: Timeline) -> CheckResult:
    """Judge the calls that were answered; O(n log n).

    - ``expired-handle``: a call was answered on a handle that was closed or poisoned; or on one of
      an instance of its file that had been deleted before the call: another one was there.
    - ``unauthorised-access``: a call was answered for which the handle was not opened, or which
      its holding of the lock forbids; or a file had another access control list than the one that
      it was given or was to inherit.
    """
    history = timeline.history
    result = CheckResult(name="handle rights")
    made = _Instances(history)
    misuses = lists = 0
    for operation, done in history.answered():
        value: Any = done.value
        if not isinstance(value, dict):
            continue
        if done.f == "misuse":
            misuses += 1
            if value["answered"]:
                result.anomalies.append(_misused(history, operation))
        if "opened" in value and (later := made.after(operation)) is not None:
            result.anomalies.append(_outlived(history, operation, later))
        if "allowed" in value:
            lists += 1
            if value["acl"] not in value["allowed"]:
                result.anomalies.append(_listed(history, operation))
    result.stats = {"misuses": misuses, "lists": lists}
    return result


class _Instances:
    """When which instances of files were there for certain: those that ``recreate`` made."""

    def __init__(self, history: History) -> None:
        found: dict[str, list[tuple[int, int]]] = {}
        for _, done in history.answered("recreate"):
            found.setdefault(done.value["key"], []).append((done.time, done.value["instance"]))
        self._latest = {key: list(accumulate(sorted(made), _later)) for key, made in found.items()}
        """Key -> when a creation had been acknowledged, and the latest instance by then."""

    def after(self, operation: Operation) -> int | None:
        """An instance later than that of the handle, which was there before the call."""
        value: Any = operation.done.value
        known = self._latest.get(value["key"], [])
        before = bisect_left(known, (operation.invoke.time,))
        if not before or known[before - 1][1] <= value["opened"]:
            return None
        return known[before - 1][1]


def _later(before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
    return now[0], max(before[1], now[1])


def _misused(history: History, operation: Operation) -> Anomaly:
    call, done = operation.invoke, operation.done
    state, calls = call.value["state"], ", ".join(done.value["answered"])
    dead = state in DEAD
    return anomaly_of(
        history,
        "expired-handle" if dead else "unauthorised-access",
        f"c{history.caller(call)} had a handle that was {'' if dead else 'open '}{state}, and it "
        f"answered: {calls}",
        operation,
    )


def _outlived(history: History, operation: Operation, later: int) -> Anomaly:
    call, value = operation.invoke, operation.done.value
    return anomaly_of(
        history,
        "expired-handle",
        f"c{history.caller(call)}'s {call.f} at {at(history, call.time)} succeeded on a handle of "
        f"instance {value['opened']} of {value['key']}, which had been deleted: instance {later} "
        "had been created by then",
        operation,
    )


def _listed(history: History, operation: Operation) -> Anomaly:
    call, value = operation.invoke, operation.done.value
    allowed = ", or ".join(" ".join(one) for one in value["allowed"])
    return anomaly_of(
        history,
        "unauthorised-access",
        f"after c{history.caller(call)}'s {call.f} of {value['key']} the access control list was "
        f"{' '.join(value['acl'])}, and not {allowed}",
        operation,
    )
