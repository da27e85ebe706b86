"""The rows of a client in the picture over time, and how spans too narrow to be seen are drawn.

Each client has four rows (session, operations, belief, server's grant), one beneath the other.
Spans narrower than ``NARROW`` units are not drawn one by one: the share that they cover of each
unit of width is shown by one of four opacities. So a picture's size is bounded by its width, not by
the run's length.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from rumpus.results.pictures.lanes import OVERLAYS, ROWS, Lanes, Span
from rumpus.results.pictures.story_marks import Mark, draw_marks
from rumpus.results.pictures.svg import WIDTH, TimeScale, group, line, path, rect, text

NARROW = 3.0
"""Spans narrower than this, in units of width, are drawn together, as density."""

ROW = 10
"""Height of a row."""

GAP = 10
"""Between two clients."""

_LETTER = 5.8  # average width of a letter of a label
_MOST_ACTS = 60
_LEVELS = 4
# Rare and important: drawn at full opacity, however short.
_ALWAYS_SEEN = ("o-fail", "o-info", "s-suspended", "s-lost")


class Drawn(NamedTuple):
    """Elements, the height that they take, and how many spans are drawn as density."""

    svg: list[str]
    height: float
    thinned: int


def draw_client(
    lanes: Lanes, client: int, scale: TimeScale, y: float, marks: Iterable[Mark] = ()
) -> Drawn:
    """A client's rows, below those marks of a story that are its.

    Args:
        lanes: the run.
        client: its number.
        scale: the time axis.
        y: the upper end.
        marks: numbered moments of the client.
    """
    rows = [name for name in ROWS if any(lanes.row(each, name) for each in lanes.clients)]
    height = len(rows) * (ROW + 1)
    numbers, above = draw_marks(marks, scale, y, height)
    top = y + above
    name = f"client {client}" if scale.right > WIDTH / 2 else f"c{client}"
    edge = scale.left - 6
    still = [
        text(4, top + 9, name, "client"),
        line(0, y - GAP / 2, scale.right, y - GAP / 2, "between"),
    ]
    moving: list[str] = []
    thinned = 0
    for number, row in enumerate(rows):
        row_y = top + number * (ROW + 1)
        still.append(text(edge, row_y + 8, ROWS[row], "rowname", anchor="end"))
        spans = lanes.row(client, row).between(scale.start, scale.end)
        drawn, thin = draw_row(spans, scale, row_y, ROW)
        thinned += thin
        if row == "belief":
            drawn += _acts(lanes, client, scale, row_y)
        moving.append(group(drawn, f"k-{row}"))
    for row in OVERLAYS:
        for span in lanes.row(client, row).between(scale.start, scale.end):
            x = scale.x(span.start)
            width = max(scale.x(span.end) - x, 1)
            moving.append(rect(x, top - 2, width, height + 3, span.style, span.title()))
            if width > 40:
                moving.append(text(x + width - 3, top + 8, span.label, "state", anchor="end"))
    whole = [*still, group([*moving, *numbers], "moving")]
    return Drawn(
        [group(whole, "of-client", client=client, height=GAP + above + height)],
        above + height,
        thinned,
    )


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


def draw_row(
    spans: Iterable[Span], scale: TimeScale, y: float, height: float
) -> tuple[list[str], int]:
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
