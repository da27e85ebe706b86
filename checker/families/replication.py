"""Writes to a replicated log, and what was read of it: nothing acknowledged is ever lost.

Operations: ``append`` of a value that is written once, ok: {epoch, at}; ``read``, ok: all values
in order; ``converge``, ok: {values}, the own copy, which is the same as what was read just then.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rumpus.checker.anomalies import anomaly_of
from rumpus.checker.check import Least, check
from rumpus.checker.every_run.final_phase import ASKED_AGAIN, STUCK_WAITER, healed_phase
from rumpus.checker.every_run.liveness import LEADERLESS
from rumpus.checker.exclusion.mutual_exclusion import STALE_ACTION
from rumpus.checker.families.queue_accounting import (
    DUPLICATE_ELEMENT,
    OUT_OF_ORDER,
    PHANTOM_ELEMENT,
)
from rumpus.checker.history import History, Operation
from rumpus.checker.timeline.timeline import Timeline
from rumpus.checker.verdict import CheckResult, Kind

LOST_WRITE = Kind("lost-write", "an acknowledged write is gone")


@dataclass(frozen=True)
class Write:
    """An ``append``. Nanoseconds; ``returned``, ``epoch`` and ``at`` are None without an ok."""

    value: Any
    operation: Operation
    called: int
    outcome: str
    returned: int | None = None
    epoch: int | None = None
    at: int | None = None


@dataclass(frozen=True)
class Sight:
    """What a client read of the whole log, between call and return."""

    values: Sequence[Any]
    operation: Operation
    called: int
    returned: int


def writes(history: History) -> list[Write]:
    """All of a history in order of their call."""
    found = []
    for operation in history.operations():
        call, done = operation
        if call.f != "append":
            continue
        if operation.outcome == "ok" and done is not None:
            value = done.value
            found.append(
                Write(
                    call.value,
                    operation,
                    call.time,
                    "ok",
                    done.time,
                    value["epoch"],
                    value["at"],
                )
            )
        else:
            found.append(Write(call.value, operation, call.time, operation.outcome))
    return found


def sights(history: History) -> list[Sight]:
    """All of a history in order of their call."""
    found = []
    for operation, done in history.answered("read", "converge"):
        call = operation.invoke
        values = done.value if call.f == "read" else done.value["values"]
        found.append(Sight(values, operation, call.time, done.time))
    return found


@check(
    "replication",
    finds=[LOST_WRITE, DUPLICATE_ELEMENT, PHANTOM_ELEMENT, OUT_OF_ORDER, STALE_ACTION],
    least=[Least(50, "acknowledged", "acknowledged writes")],
)
def check_replication(timeline: Timeline) -> CheckResult:
    """Judge what became of the writes; linear in the lengths of all that was read.

    - ``lost-write``: a write was acknowledged before a read was called, and is not in it; or two
      writes were acknowledged for one position.
    - ``duplicate-element``: a value was in one read twice. ``phantom-element``: a value was read
      that was never written, was written only later, or whose write failed.
    - ``out-of-order``: a value was read behind one whose write was called only after its own had
      been acknowledged; or two reads have values in different orders.
    - ``stale-action``: a write was acknowledged in an older epoch than another write that had been
      acknowledged before its call: a deposed primary still finds a quorum.
    """
    history = timeline.history
    result = CheckResult(name="replication")
    written, seen = writes(history), sights(history)
    acknowledged = [write for write in written if write.outcome == "ok"]
    _Judge(history, written, acknowledged, result).judge(seen)
    epochs = {write.epoch for write in acknowledged}
    result.stats = {
        "writes": len(written),
        "acknowledged": len(acknowledged),
        "unknown": sum(write.outcome == "info" for write in written),
        "reads": len(seen),
        "primaries": len(epochs),
    }
    return result


class _Judge:
    def __init__(
        self,
        history: History,
        written: Sequence[Write],
        acknowledged: Sequence[Write],
        result: CheckResult,
    ) -> None:
        self._history = history
        self._written = {write.value: write for write in written}
        self._acknowledged = sorted(acknowledged, key=lambda write: write.returned or 0)
        self._result = result

    def judge(self, seen: Sequence[Sight]) -> None:
        self._places()
        self._epochs()
        lost: set[Any] = set()
        longest = max(seen, key=lambda sight: len(sight.values), default=None)
        order = {value: at for at, value in enumerate(longest.values)} if longest else {}
        for sight in seen:
            self._doubles_and_phantoms(sight)
            self._order(sight, order)
            self._losses(sight, lost)

    def _places(self) -> None:
        taken: dict[int, Write] = {}
        for write in self._acknowledged:
            assert write.at is not None
            other = taken.setdefault(write.at, write)
            if other is not write:
                self._add(
                    "lost-write",
                    f"{other.value} was acknowledged at position {write.at} in epoch "
                    f"{other.epoch}, and {write.value} at the same position in epoch {write.epoch}",
                    other.operation,
                    write.operation,
                )

    def _epochs(self) -> None:
        """Who was called after a return in a later epoch: by merging calls into returns."""
        latest: Write | None = None
        returned = iter(self._acknowledged)
        coming = next(returned, None)
        for write in sorted(self._acknowledged, key=lambda w: w.called):
            while coming is not None and (coming.returned or 0) < write.called:
                if latest is None or (coming.epoch or 0) > (latest.epoch or 0):
                    latest = coming
                coming = next(returned, None)
            if latest is not None and (latest.epoch or 0) > (write.epoch or 0):
                self._add(
                    "stale-action",
                    f"{write.value} was acknowledged in epoch {write.epoch}, although "
                    f"{latest.value} had been in epoch {latest.epoch} before it was called",
                    latest.operation,
                    write.operation,
                )

    def _doubles_and_phantoms(self, sight: Sight) -> None:
        for value, times in Counter(sight.values).items():
            write = self._written.get(value)
            if times > 1:
                what = f"{value} was read {times} times in one copy"
                self._add("duplicate-element", what, sight.operation)
            if write is None:
                self._add(
                    "phantom-element",
                    f"{value} was read, although no client wrote it",
                    sight.operation,
                )
            elif write.called > sight.returned or write.outcome == "fail":
                when = "failed" if write.outcome == "fail" else "was not called yet"
                what = f"{value} was read, although its write {when}"
                self._add("phantom-element", what, sight.operation, write.operation)

    def _order(self, sight: Sight, order: dict[Any, int]) -> None:
        last_called: Write | None = None
        last_place = -1
        for value in sight.values:
            write = self._written.get(value)
            if (
                write is not None
                and write.returned is not None
                and last_called is not None
                and write.returned < last_called.called
            ):
                self._add(
                    "out-of-order",
                    f"{value} was read after {last_called.value} in the log, but the write of "
                    f"{last_called.value} was only called after {value} had been acknowledged",
                    sight.operation,
                    write.operation,
                    last_called.operation,
                )
                return
            if write is not None and (last_called is None or write.called > last_called.called):
                last_called = write
            place = order.get(value, last_place)
            if place < last_place:
                what = f"{value} is at another position in what another client read"
                self._add("out-of-order", what, sight.operation)
                return
            last_place = place

    def _losses(self, sight: Sight, lost: set[Any]) -> None:
        present = set(sight.values)
        missing = []
        for write in self._acknowledged:
            if (write.returned or 0) >= sight.called:
                break
            if write.value not in present and write.value not in lost:
                missing.append(write)
        if missing:
            lost.update(write.value for write in missing)
            first = missing[0]
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            self._add(
                "lost-write",
                f"{first.value}{more}, acknowledged in epoch {first.epoch}, was no longer "
                "there when the log was read",
                *(write.operation for write in missing[:5]),
                sight.operation,
            )

    def _add(self, kind: str, description: str, *operations: Operation) -> None:
        self._result.anomalies.append(anomaly_of(self._history, kind, description, *operations))


@check("recovery", finds=[LEADERLESS, STUCK_WAITER])
def check_recovery(timeline: Timeline) -> CheckResult:
    """Judge the final phase: everybody can write once more, and every copy is the same.

    ``leaderless``: nobody at all can write; ``stuck-waiter``: some cannot, or a copy does not
    become what the primary has.
    """
    history = timeline.history
    result = CheckResult(name="recovery")
    phase = healed_phase(history, result, ASKED_AGAIN)
    if phase is None or phase.was_cut_short():
        return result
    writing = phase.tries("append")
    phase.asked.observed = len(writing)
    stuck = {client: ops for client, ops in writing.items() if not _any_ok(ops)}
    nobody = "leaderless" if len(stuck) == len(writing) else ""
    for client, ops in stuck.items():
        phase.stuck(client, "could not write anything", ops, nobody)
    for client, ops in phase.tries("converge").items():
        if not _any_ok(ops):
            phase.stuck(client, "did not get the same copy as the primary", ops)
    result.stats = {"final_writers": len(writing) - len(stuck)}
    return result


def _any_ok(operations: Sequence[Operation]) -> bool:
    return any(operation.outcome == "ok" for operation in operations)
