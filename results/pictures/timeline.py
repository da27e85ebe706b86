"""The picture over time: what each client did, believed and owned, and which faults were on.

Each client has four rows (session, operations, belief, server's grant), one beneath the other, so
that a lock's operations, its holders' beliefs and the server's grants can be compared. Spans
narrower than ``NARROW`` units are not drawn one by one: the share that they cover of each unit of
width is shown by one of four opacities. So a picture's size is bounded by its width, not by the
run's length.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup

from rumpus.checker.timeline.faults import FaultWindow
from rumpus.checker.verdict import Anomaly
from rumpus.results.pictures.lanes import OVERLAYS, ROWS, Lanes, Span, fault_label
from rumpus.results.pictures.svg import TimeScale, line, path, picture, rect, text, time_axis

NARROW = 3.0
"""Spans narrower than this, in units of width, are drawn together, as density."""

_ROW = 10
_GAP = 10
_LETTER = 5.8  # average width of a letter of a label
_MOST_ACTS = 60
_MANY_CLIENTS = 8  # above this an anomaly's picture shows only the clients in it
_LEVELS = 4
# Rare and important: drawn at full opacity, however short.
_ALWAYS_SEEN = ("o-fail", "o-info", "s-suspended", "s-lost")


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
) -> DrawnTimeline:
    """Draw a stretch of a run.

    Args:
        lanes: the run.
        start: left edge, nanoseconds.
        end: right edge.
        description: what the picture shows, for screen readers.
        highlight: an anomaly whose time is marked across all lanes; if there are many clients,
            only those that took part in it are drawn.
    """
    scale = TimeScale(start, end, lanes.start)
    labels, top = fault_labels(lanes, scale)
    marks: list[str] = []
    y = top
    anomalies = [a for a in lanes.anomalies if a.end and a.end >= start and a.start <= end]
    if anomalies:
        marks += _anomaly_marks(anomalies, scale, y, lanes)
        y += _ROW + 4
    thinned = 0
    leaders = list(lanes.leaders.between(start, end))
    if leaders:
        parts, thin = _row(leaders, scale, y, _ROW + 3)
        marks += [text(122, y + 10, "server that leads", "rowname", anchor="end"), *parts]
        thinned += thin
        y += _ROW + 6
    clients = lanes.clients
    if highlight is not None and len(clients) > _MANY_CLIENTS:
        clients = [client for client in clients if client in highlight.clients] or clients
    for client in clients:
        parts, height, thin = _client(lanes, client, scale, y + _GAP)
        marks += parts
        thinned += thin
        y += _GAP + height
    bottom = y + 4
    under = [*fault_bands(lanes, scale, top, bottom), *time_axis(scale, top, bottom)]
    if highlight is not None:
        x = scale.x(highlight.start)
        style = "marked-violation" if highlight.promised else "marked-hazard"
        under.append(rect(x, top, max(scale.x(highlight.end) - x, 1.5), bottom - top, style))
    svg = picture(bottom + 18, [*under, *labels, *marks], description)
    return DrawnTimeline(svg, thinned)


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
    for fault, _ in _faults_within(lanes, scale):
        label = fault_label(fault)
        label = label if len(label) <= 40 else label[:39] + "…"
        width = len(label) * _LETTER
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
    parts = [text(122, y + 9, "anomalies", "rowname", anchor="end")]
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


def _client(lanes: Lanes, client: int, scale: TimeScale, y: float) -> tuple[list[str], float, int]:
    """A client's rows: SVG elements, height, how many spans are drawn as density."""
    rows = [name for name in ROWS if any(lanes.row(each, name) for each in lanes.clients)]
    height = len(rows) * (_ROW + 1)
    parts = [
        text(4, y + 9, f"client {client}", "client"),
        line(0, y - _GAP / 2, scale.right, y - _GAP / 2, "between"),
    ]
    thinned = 0
    for number, name in enumerate(rows):
        row_y = y + number * (_ROW + 1)
        parts.append(text(122, row_y + 8, ROWS[name], "rowname", anchor="end"))
        spans = lanes.row(client, name).between(scale.start, scale.end)
        drawn, thin = _row(spans, scale, row_y, _ROW)
        parts += drawn
        thinned += thin
        if name == "belief":
            parts += _acts(lanes, client, scale, row_y)
    for name in OVERLAYS:
        for span in lanes.row(client, name).between(scale.start, scale.end):
            x = scale.x(span.start)
            width = max(scale.x(span.end) - x, 1)
            parts.append(rect(x, y - 2, width, height + 3, span.style, span.title()))
            if width > 40:
                parts.append(text(x + width - 3, y + 8, span.label, "state", anchor="end"))
    return parts, height, thinned


def _acts(lanes: Lanes, client: int, scale: TimeScale, y: float) -> list[str]:
    """A client's actions on the protected resource; none if there are more than ``_MOST_ACTS``."""
    acts = lanes.acts_between(client, scale.start, scale.end)
    parts = []
    for act in acts if len(acts) <= _MOST_ACTS else []:
        value = act.value
        accepted = value.get("accepted") is not False
        title = (
            f"client {client}'s action {'accepted' if accepted else 'refused by the fence'}, "
            f"token {value.get('token')}, at {lanes.seconds(act.time)} (record {act.index})"
        )
        style = "act" if accepted else "act refused"
        parts.append(path(f"M{scale.x(act.time):.1f} {y + 6:.1f}v4", style, title))
    return parts


def _row(spans: Iterable[Span], scale: TimeScale, y: float, height: float) -> tuple[list[str], int]:
    """A row's SVG elements (narrow spans are drawn as density), and how many spans are narrow."""
    parts = []
    narrow: dict[str, dict[int, float]] = {}
    thinned = 0
    for span in spans:
        left, right = scale.x(span.start), scale.x(span.end)
        if right - left < NARROW:
            thinned += 1
            _add_share(narrow.setdefault(span.style, {}), left, right)
            continue
        parts.append(rect(left, y, right - left, height, span.style, span.title()))
        if span.label and len(span.label) * _LETTER + 6 < right - left:
            parts.append(text(left + 3, y + height / 2 + 3.5, span.label, "inside"))
    # Rare and important spans are drawn last, so that nothing covers them.
    for style in sorted(narrow, key=lambda style: style in _ALWAYS_SEEN):
        parts += _density(style, narrow[style], y, height)
    return parts, thinned


def _add_share(shares: dict[int, float], left: float, right: float) -> None:
    """Add to each unit of width how much of it a span covers."""
    for unit in range(int(left), int(right) + 1):
        share = min(right, unit + 1) - max(left, unit)
        shares[unit] = shares.get(unit, 0.0) + max(share, 0.0)


def _density(style: str, shares: dict[int, float], y: float, height: float) -> list[str]:
    """Units of width, each in one of four opacities; equal neighbours are one rectangle."""
    runs: dict[int, list[tuple[int, int]]] = {}
    for unit in sorted(shares):
        level = _LEVELS if style in _ALWAYS_SEEN else _level(shares[unit])
        same = runs.setdefault(level, [])
        if same and same[-1][1] == unit:
            same[-1] = (same[-1][0], unit + 1)
        else:
            same.append((unit, unit + 1))
    title = "many short ones: the stronger, the larger their share of the time"
    return [
        path(
            "".join(f"M{a} {y:g}h{b - a}v{height:g}h{a - b}z" for a, b in stretches),
            f"{style} d{level}",
            title,
        )
        for level, stretches in sorted(runs.items())
    ]


def _level(share: float) -> int:
    return min(max(math.ceil(share * _LEVELS - 1e-9), 1), _LEVELS)
