"""How the host of a run did, as the control process measured it (``harness.host_meter``)."""

from typing import Final, NamedTuple

import msgspec

from rumpus.checker.history import History

LATE_MS: Final = 100.0
"""By how much a sleep must be exceeded for its second to count as late, in milliseconds."""


class Window(NamedTuple):
    """From when to when (ns), by how much it was late at worst (ms), and the pressure then."""

    start: int
    end: int
    late_ms: float
    pressure: float | None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """How the host did during the run, where it was measured.

    ``late_s`` is for how many of ``measured_s`` seconds it was late (by ``LATE_MS`` or more);
    ``worst_ms`` the latest wake-up; ``pressure`` the share of the time in which some task had to
    wait for a processor, and ``load`` the greatest load average, both None where the host does not
    tell.
    """

    late_s: float
    measured_s: float
    worst_ms: float
    pressure: float | None
    load: float | None


def windows(history: History) -> list[Window]:
    """The windows that were measured, in order; none in simulated runs and foreign histories."""
    return [
        Window(op.value["since"], op.time, op.value["late_ms"], op.value.get("pressure"))
        for op in history.events("control", "host")
    ]


def measure_host(history: History) -> Host | None:
    """How the host did; None if nobody measured it."""
    measured = windows(history)
    if not measured:
        return None
    late = sum(each.end - each.start for each in measured if each.late_ms >= LATE_MS)
    weighed = [(each.end - each.start, each.pressure) for each in measured]
    told = [(length, pressure) for length, pressure in weighed if pressure is not None]
    whole = sum(length for length, _ in told)
    loads = [op.value.get("load") for op in history.events("control", "host")]
    return Host(
        late_s=round(late / 1e9, 1),
        measured_s=round(sum(length for length, _ in weighed) / 1e9, 1),
        worst_ms=max(each.late_ms for each in measured),
        pressure=round(sum(length * p for length, p in told) / whole, 2) if whole else None,
        load=max((load for load in loads if load is not None), default=None),
    )
