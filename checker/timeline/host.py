"""How the host of a run did, as the control process measured it (``harness.host_meter``)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from rumpus.checker.history import History

LATE_MS: Final = 100.0
"""By how much a sleep must be exceeded for its second to count as late, in milliseconds."""

CROWDED: Final = 6.0
"""So many tasks for each processor make a second late, too: each waits for five others in turn."""


class Window(NamedTuple):
    """What was measured from ``start`` to ``end`` (ns).

    ``late_ms`` is the worst delay of a wake-up, ``queue`` the mean number of tasks that ran or
    waited for each processor; None if the host did not tell.
    """

    start: int
    end: int
    late_ms: float
    queue: float | None

    @property
    def late(self) -> bool:
        """Whether the host let its processes wait for long."""
        return self.late_ms >= LATE_MS or self.crowded

    @property
    def crowded(self) -> bool:
        """Whether there were so many tasks that each waited for several others in turn."""
        return (self.queue or 0) >= CROWDED


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """How the host did during the run, where it was measured.

    ``late_s`` is for how many of ``measured_s`` seconds it was late (see ``Window.late``);
    ``worst_ms`` the worst delay of a wake-up; ``queue`` the mean number of tasks that ran or waited
    for each processor, None if the host did not tell.
    """

    late_s: float
    measured_s: float
    worst_ms: float
    queue: float | None


def windows(history: History) -> list[Window]:
    """What was measured, in order; nothing in simulated runs and foreign histories."""
    return [
        Window(op.value["since"], op.time, op.value["late_ms"], op.value.get("queue"))
        for op in history.events("control", "host")
    ]


def measure_host(measured: Sequence[Window]) -> Host | None:
    """How the host did; None if nobody measured it."""
    if not measured:
        return None
    told = [(each.end - each.start, each.queue) for each in measured if each.queue is not None]
    whole = sum(length for length, _ in told)
    return Host(
        late_s=round(sum(each.end - each.start for each in measured if each.late) / 1e9, 1),
        measured_s=round(sum(each.end - each.start for each in measured) / 1e9, 1),
        worst_ms=max(each.late_ms for each in measured),
        queue=round(sum(length * queue for length, queue in told) / whole, 1) if whole else None,
    )
