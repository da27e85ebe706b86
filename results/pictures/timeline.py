"""The picture over time: what each client did, believed and owned, and which faults were on."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from markupsafe import Markup

from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.verdict import Anomaly
from rumpus.results.pictures.lanes import Lanes, fault_label
from rumpus.results.pictures.story_marks import Mark, draw_marks
from rumpus.results.pictures.svg import (
    NARROW_WIDTH,
    WIDTH,
    TimeScale,
    group,
    path,
    picture,
    rect,
    text,
    time_axis,
)
from rumpus.results.pictures.timeline_rows import GAP, ROW, draw_client, draw_row

_BOLD_LETTER = 6.9  # average width of a letter of a fault's name
_MANY_CLIENTS = 8  # above this an anomaly's picture shows only the clients in it
_MANY_FAULTS = 16  # above this their names are in the tooltips alone


class DrawnTimeline(NamedTuple):
    """A picture, and how many spans in it are too narrow to be drawn one by one."""

    svg: Markup
    thinned: int


def draw_timeline(
    lanes: Lanes,
    start: int,
    end: int,
    description: str,
    highlight: Anomaly | None = None,
    *,
    marks: Sequence[Mark] = (),
    clients: Collection[int] = (),
    narrow: bool = False,
) -> DrawnTimeline:
    """Draw a stretch of a run.

    Args:
        lanes: the run.
        start: left edge, nanoseconds.
        end: right edge.
        description: what the picture shows, for screen readers.
        highlight: an anomaly whose time is marked across all lanes; if there are many clients,
            only those that took part in it are drawn.
        marks: numbered moments of a story, in order of time.
        clients: those that are drawn; all if empty.
        narrow: whether it is for a telephone.
    """
    scale = TimeScale(start, end, lanes.start)
    if narrow:
        scale = TimeScale(start, end, lanes.start, left=66, right=NARROW_WIDTH - 4)
    shown = _shown(lanes, clients, highlight)
    labels, top = fault_labels(lanes, scale)
    still, moving, y, thinned = _heading(lanes, scale, top, shown, marks)
    parts: list[str] = []
    for client in shown:
        theirs = [mark for mark in marks if mark.client == client]
        drawn = draw_client(lanes, client, scale, y + GAP, theirs)
        parts += drawn.svg
        thinned += drawn.thinned
        y += GAP + drawn.height
    bottom = y + 4
    bands = fault_bands(lanes, scale, top, bottom)
    if highlight is not None:
        x = scale.x(highlight.start)
        style = "marked-violation" if highlight.promised else "marked-hazard"
        bands.append(rect(x, top, max(scale.x(highlight.end) - x, 1.5), bottom - top, style))
    under = [group(bands, "moving under"), group(time_axis(scale, top, bottom), "ticks")]
    over = [*still, group([*labels, *moving], "moving"), *parts]
    width = NARROW_WIDTH if narrow else WIDTH
    data = {**scale.data, "top": top, "bottom": bottom}
    page = [*under, *over]
    role = "group" if marks else "img"
    svg = picture(bottom + 18, page, description, width=width, data=data, role=role)
    return DrawnTimeline(svg, thinned)


def _shown(lanes: Lanes, clients: Collection[int], highlight: Anomaly | None) -> list[int]:
    if highlight is not None and not clients and len(lanes.clients) > _MANY_CLIENTS:
        clients = highlight.clients
    return [client for client in lanes.clients if client in clients] or lanes.clients


def _heading(
    lanes: Lanes, scale: TimeScale, y: float, shown: Collection[int], marks: Sequence[Mark]
) -> tuple[list[str], list[str], float, int]:
    """What stands above the clients: names, what moves, the lower end, how much is density."""
    still: list[str] = []
    moving: list[str] = []
    edge = scale.left - 6
    thinned = 0
    anomalies = [a for a in lanes.anomalies if a.end and a.end >= scale.start]
    if anomalies := [a for a in anomalies if a.start <= scale.end]:
        still.append(text(edge, y + 9, "anomalies", "rowname", anchor="end"))
        moving += _anomaly_marks(anomalies, scale, y, lanes)
        y += ROW + 4
    if leaders := list(lanes.leaders.between(scale.start, scale.end)):
        drawn, thinned = draw_row(leaders, scale, y, ROW + 3)
        name = "server that leads" if scale.right > WIDTH / 2 else "leader"
        still.append(text(edge, y + 10, name, "rowname", anchor="end"))
        moving += drawn
        y += ROW + 6
    nobodys = [mark for mark in marks if mark.client not in shown]
    numbers, height = draw_marks(nobodys, scale, y, 0)
    if height:
        name = "faults, servers" if scale.right > WIDTH / 2 else "others"
        still.append(text(edge, y + 9, name, "rowname", anchor="end"))
    return still, [*moving, *numbers], y + height, thinned


def fault_bands(lanes: Lanes, scale: TimeScale, top: float, bottom: float) -> list[str]:
    """Shaded bands: light while a fault is injected or healed, darker while it is in force."""
    parts = []
    for fault, end in _faults_within(lanes, scale):
        left, right = scale.x(fault.begun), scale.x(end)
        label = fault_label(fault)
        title = f"{label}: {fault.detail}" if fault.detail else label
        parts.append(rect(left, top, max(right - left, 1), bottom - top, "band", title))
        if fault.in_force is not None:
            core = scale.x(fault.in_force)
            until = scale.x(end if fault.healing is None else fault.healing)
            parts.append(rect(core, top, max(until - core, 1), bottom - top, "band", title))
    return parts


def fault_labels(lanes: Lanes, scale: TimeScale) -> tuple[list[str], float]:
    """Names of the faults above their bands, in up to four rows, and the height of the rows."""
    ends: list[float] = []
    parts = []
    faults = _faults_within(lanes, scale)
    if len(faults) > _MANY_FAULTS:
        words = f"{len(faults)} faults: rest the pointer on a band to read its name"
        return [text(scale.left, 11, words, "fault")], 18.0
    for fault, _ in faults:
        label = fault_label(fault)
        share = 0.3 if scale.right > WIDTH / 2 else 0.6
        most = int((scale.right - scale.left) * share / _BOLD_LETTER)
        label = label if len(label) <= most else label[: most - 1] + "…"
        width = len(label) * _BOLD_LETTER
        x = min(scale.x(fault.begun), scale.right - width)
        row = next((row for row, end in enumerate(ends) if end + 6 < x), len(ends))
        if row == 4:
            continue  # its name is in the band's tooltip and in the table
        ends[row:] = [x + width, *ends[row + 1 :]]
        parts.append(text(x, 11 + 13 * row, label, "fault"))
    return parts, 13.0 * len(ends) + 5


def _faults_within(lanes: Lanes, scale: TimeScale) -> list[tuple[FaultWindow, int]]:
    """The faults that touch the stretch, each with its end."""
    ends = [(fault, lanes.fault_end(fault)) for fault in lanes.faults]
    return [(fault, end) for fault, end in ends if end >= scale.start and fault.begun <= scale.end]


def _anomaly_marks(anomalies: list[Anomaly], scale: TimeScale, y: float, lanes: Lanes) -> list[str]:
    parts = []
    seen = set()
    for anomaly in anomalies:
        style = "violation" if anomaly.promised else "hazard"
        x, right = scale.x(anomaly.start), scale.x(anomaly.end)
        key = (style, round(x), round(right))
        if key in seen:
            continue
        seen.add(key)
        title = f"{anomaly.kind} at {lanes.seconds(anomaly.start)}: {anomaly.description[:200]}"
        parts.append(rect(x, y + 3, max(right - x, 2), 4, style, title))
        parts.append(path(f"M{x:.1f} {y + 9}l-4 -8h8z", style, title))
    return parts
