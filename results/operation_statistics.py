"""How many operations there were, how they ended and how long they took."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rumpus.checker.history import Operation
from rumpus.checker.quantile import quantile
from rumpus.checker.timeline.faults import FaultWindow


@dataclass(frozen=True)
class OperationStatistics:
    """Figures of a group of operations; latencies are in milliseconds, of those that ended ok."""

    name: str
    ok: int
    fail: int
    info: int
    median: float | None
    p99: float | None
    longest: float | None

    @property
    def count(self) -> int:
        """The number of operations in the group."""
        return self.ok + self.fail + self.info


def outcomes(operations: Iterable[Operation]) -> dict[str, int]:
    """How many ended ``ok``, ``fail`` and ``info`` (those still open included)."""
    counts = {"ok": 0, "fail": 0, "info": 0}
    for operation in operations:
        counts[operation.outcome] += 1
    return counts


def latency_ms(operation: Operation) -> float | None:
    """From call to completion, in milliseconds; None while it is open."""
    if operation.completion is None:
        return None
    return (operation.completion.time - operation.invoke.time) / 1e6


def by_function(operations: Iterable[Operation]) -> list[OperationStatistics]:
    """Figures for each ``f``, in order of first appearance."""
    return _grouped(operations, lambda operation: [operation.invoke.f])


def by_fault(
    operations: Iterable[Operation], windows: Sequence[FaultWindow]
) -> list[OperationStatistics]:
    """Figures of the operations called while no fault was on, and under each kind of fault.

    An operation called under two kinds of fault counts for both.
    """
    kinds = sorted({window.kind for window in windows})
    on = {kind: _Cover([w for w in windows if w.kind == kind]) for kind in kinds}
    begins = {window.begun for window in windows}
    changes = sorted(begins | {w.ended + 1 for w in windows if w.ended is not None})
    # The kinds that are on before the first change (none), and from each change to the next.
    stretches = [[OUTSIDE]]
    stretches += [
        [kind for kind, cover in on.items() if time in cover] or [OUTSIDE] for time in changes
    ]

    def groups(operation: Operation) -> list[str]:
        return stretches[bisect_right(changes, operation.invoke.time)]

    found = {statistics.name: statistics for statistics in _grouped(operations, groups)}
    nothing = (0, 0, 0, None, None, None)
    return [found.get(name, OperationStatistics(name, *nothing)) for name in [OUTSIDE, *kinds]]


OUTSIDE = "no fault"
"""Name of the group of operations called while no fault was on."""


class _Cover:
    """The times at which at least one of the windows is on; a lookup takes logarithmic time."""

    def __init__(self, windows: Iterable[FaultWindow]) -> None:
        ordered = sorted(windows, key=lambda window: window.begun)
        self._starts = [window.begun for window in ordered]
        ends = (math.inf if window.ended is None else window.ended for window in ordered)
        self._latest_ends = list(accumulate(ends, max))

    def __contains__(self, time: int) -> bool:
        at = bisect_right(self._starts, time) - 1
        return at >= 0 and self._latest_ends[at] >= time


def _grouped(
    operations: Iterable[Operation], groups: Callable[[Operation], list[str]]
) -> list[OperationStatistics]:
    members: dict[str, list[Operation]] = {}
    for operation in operations:
        for name in groups(operation):
            members.setdefault(name, []).append(operation)
    return [_statistics(name, group) for name, group in members.items()]


def _statistics(name: str, operations: list[Operation]) -> OperationStatistics:
    counts = outcomes(operations)
    latencies = sorted(
        latency
        for operation in operations
        if operation.outcome == "ok" and (latency := latency_ms(operation)) is not None
    )
    return OperationStatistics(
        name=name,
        ok=counts["ok"],
        fail=counts["fail"],
        info=counts["info"],
        median=quantile(latencies, 0.5),
        p99=quantile(latencies, 0.99),
        longest=latencies[-1] if latencies else None,
    )
