"""The faults of a run as rows of a report; those of a long run are folded by kind."""

from dataclasses import dataclass, field

from markupsafe import Markup

from rumpus.checker.timeline.faults import FaultWindow
from rumpus.results.pictures.lanes import Lanes, fault_label
from rumpus.results.reports.drawing import CONTEXT, Drawing
from rumpus.results.reports.record_rows import shortened
from rumpus.results.wording import seconds

MANY = 12
"""Above this faults are folded by kind, and only the first of a kind has a picture."""


@dataclass
class FaultRow:
    """One fault, with a picture of the time around it."""

    begun: int
    at: str
    kind: str
    targets: str
    in_force: str
    verified_in_force: bool
    lasted: str
    healed: str
    verified_healed: bool
    detail: str
    svg: Markup | None = None


@dataclass
class FaultGroup:
    """Faults of one kind. ``missed`` of them were not verified, in force or healed."""

    kind: str
    shortest: str
    longest: str
    missed: int
    rows: list[FaultRow] = field(default_factory=list)


def fault_groups(drawing: Drawing) -> list[FaultGroup]:
    """The faults by kind, in order of first appearance."""
    lanes = drawing.lanes
    kinds: dict[str, list[FaultWindow]] = {}
    for fault in lanes.faults:
        kinds.setdefault(fault.kind, []).append(fault)
    groups = []
    full = False
    for kind, faults in kinds.items():
        lengths = [lanes.fault_end(fault) - fault.begun for fault in faults]
        group = FaultGroup(
            kind=kind,
            shortest=seconds(min(lengths)),
            longest=seconds(max(lengths)),
            missed=sum(not (each.verified_in_force and each.verified_healed) for each in faults),
        )
        groups.append(group)
        for place, fault in enumerate(faults):
            svg = None
            if full:
                drawing.omitted += 1
            elif not place or len(lanes.faults) <= MANY:
                svg = _picture(fault, drawing)
                full = svg is None  # further pictures would be drawn only to be dropped
            group.rows.append(_row(fault, lanes, svg))
    return groups


def _picture(fault: FaultWindow, drawing: Drawing) -> Markup | None:
    """The time of a fault, and a quarter of its length before and after it."""
    end = drawing.lanes.fault_end(fault)
    margin = max((end - fault.begun) // 4, CONTEXT)
    description = f"{fault_label(fault)} over time"
    return drawing.timeline(fault.begun - margin, end + margin, description)


def _row(fault: FaultWindow, lanes: Lanes, svg: Markup | None) -> FaultRow:
    return FaultRow(
        begun=fault.begun,
        at=lanes.seconds(fault.begun),
        kind=fault.kind,
        targets=", ".join(fault.targets),
        in_force=_between(fault.begun, fault.in_force),
        verified_in_force=fault.verified_in_force,
        lasted=seconds(lanes.fault_end(fault) - fault.begun),
        healed=_between(fault.healing, fault.ended),
        verified_healed=fault.verified_healed,
        detail=shortened(fault.detail),
        svg=svg,
    )


def _between(start: int | None, end: int | None) -> str:
    return "never" if start is None or end is None else f"after {seconds(end - start, 2)}"
