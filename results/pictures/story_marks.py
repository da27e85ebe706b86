"""The numbers in a picture at which the lines of a story stand."""

from collections.abc import Iterable
from typing import NamedTuple

from rumpus.results.pictures.svg import TimeScale, circle, line, link, text

HEIGHT = 16
"""Of a row of numbers."""

_RADIUS = 6.5


class Mark(NamedTuple):
    """A numbered moment; ``client`` is whose it is, None for what faults and servers did."""

    number: int
    time: int
    client: int | None
    words: str


def draw_marks(
    marks: Iterable[Mark], scale: TimeScale, y: float, below: float
) -> tuple[list[str], float]:
    """Numbers side by side, with lines down to the moments; and the height that they take.

    A mark outside of the picture's stretch is not drawn. Each number leads to its line.

    Args:
        marks: in order of time.
        scale: the time axis.
        y: the upper end of the numbers.
        below: how far the lines reach below the numbers.
    """
    seen = [mark for mark in marks if scale.start <= mark.time <= scale.end]
    step = 2 * _RADIUS + 1
    last = scale.left - step
    parts = []
    for place, mark in enumerate(seen):
        x = scale.x(mark.time)
        still_to_come = len(seen) - 1 - place
        center = min(max(x, last + step), scale.right - _RADIUS - step * still_to_come)
        last = center
        foot = y + 2 * _RADIUS
        parts += [
            line(center, foot, x, foot + 3, "mark-line"),
            line(x, foot + 3, x, y + HEIGHT + below, "mark-line"),
            link(
                [
                    circle(center, y + _RADIUS, _RADIUS, "mark", f"{mark.number}: {mark.words}"),
                    text(center, y + _RADIUS + 3.2, str(mark.number), "number", anchor="middle"),
                ],
                f"line-{mark.number}",
            ),
        ]
    return parts, HEIGHT if seen else 0
