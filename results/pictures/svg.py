"""The SVG elements that the pictures are made of, and the time axis that they share.

Pictures are inlined in the report. They have CSS classes and no styles of their own, so that they
follow its dark mode. All text in them is escaped here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup, escape

WIDTH = 1100
"""Width of a picture, in SVG user units; on a laptop one is about a pixel."""

NARROW_WIDTH = 366
"""Width of a picture for a telephone; there one unit is about a pixel."""


def picture(
    height: float,
    parts: Iterable[str],
    description: str,
    *,
    width: int = WIDTH,
    role: str = "img",
    data: Mapping[str, float] | None = None,
) -> Markup:
    """A whole picture, as wide as the element around it; screen readers read the description.

    Args:
        height: in SVG user units.
        parts: its elements.
        description: what it shows.
        width: in SVG user units.
        role: ``group`` if links are in it that screen readers are to find.
        data: numbers that the page's script reads, by name.
    """
    said = "".join(f' data-{name}="{number:.10g}"' for name, number in (data or {}).items())
    return Markup(  # noqa: S704 - every text in the parts was escaped by the functions below
        f'<svg viewBox="0 0 {width} {_n(height)}" role="{role}" aria-label="{escape(description)}"'
        f"{said}>{''.join(parts)}</svg>"
    )


def group(parts: Iterable[str], style: str, **data: float) -> str:
    """Elements that belong together; ``data`` are numbers that the page's script reads."""
    said = "".join(f' data-{name}="{_n(number)}"' for name, number in data.items())
    return f'<g class="{escape(style)}"{said}>{"".join(parts)}</g>'


def clipped(parts: Iterable[str], scale: "TimeScale", top: float, bottom: float) -> str:
    """Elements that move with the time axis, cut at its edges."""
    width, height = scale.right - scale.left, bottom - top
    box = f"{_n(scale.left)} {_n(top)} {_n(width)} {_n(height)}"
    place = f'x="{_n(scale.left)}" y="{_n(top)}" width="{_n(width)}" height="{_n(height)}"'
    return f'<svg {place} viewBox="{box}">{group(parts, "moving")}</svg>'


def link(parts: Iterable[str], fragment: str) -> str:
    """Elements that lead to another part of the same page."""
    return f'<a href="#{escape(fragment)}">{"".join(parts)}</a>'


def document(
    drawn: Markup,
    size: tuple[float, float],
    style: str,
    *,
    title: str = "",
    description: str = "",
) -> str:
    """A whole picture as the content of an SVG file.

    Args:
        drawn: the picture, made by `picture`.
        size: how wide and high it is shown where there is room, in pixels.
        style: trusted CSS for it; it is not escaped.
        title: what it is, for screen readers and as its tooltip; empty for none.
        description: what it shows, for screen readers; empty for none.
    """
    width, height = map(_n, size)
    shape = f'xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    opened, _, rest = str(drawn).partition(">")
    told = _title(title) if title else ""
    told += f"<desc>{escape(description)}</desc>" if description else ""
    opened = opened.replace("<svg", f"<svg {shape}", 1)
    return f"{opened}>{told}<style>{style}</style>{rest}\n"


def rect(x: float, y: float, width: float, height: float, style: str, title: str = "") -> str:
    """A rectangle; ``title`` is shown when the pointer rests on it."""
    size = f'width="{_n(width)}" height="{_n(height)}"'
    shape = f'<rect class="{escape(style)}" x="{_n(x)}" y="{_n(y)}" {size}'
    return f"{shape}>{_title(title)}</rect>" if title else f"{shape}/>"


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """A straight line."""
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line class="{escape(style)}" {ends}/>'


def path(d: str, style: str, title: str = "") -> str:
    """Any shape, by its path data."""
    shape = f'<path class="{escape(style)}" d="{d}"'
    return f"{shape}>{_title(title)}</path>" if title else f"{shape}/>"


def circle(x: float, y: float, radius: float, style: str, title: str = "") -> str:
    """A disk; ``title`` is shown when the pointer rests on it."""
    shape = f'<circle class="{escape(style)}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
    return f"{shape}>{_title(title)}</circle>" if title else f"{shape}/>"


def text(x: float, y: float, words: str, style: str = "", *, anchor: str = "start") -> str:
    """Words; ``anchor`` is ``start``, ``middle`` or ``end``."""
    named = f' class="{escape(style)}"' if style else ""
    placed = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text{named} x="{_n(x)}" y="{_n(y)}"{placed}>{escape(words)}</text>'


@dataclass(frozen=True)
class TimeScale:
    """Maps times of a stretch of the run (nanoseconds) to x coordinates.

    Args:
        start: the time at the left edge.
        end: the time at the right edge.
        origin: the time that is called 0 s.
        left: x coordinate of the left edge.
        right: x coordinate of the right edge.
        before: nanoseconds left of the left edge that are drawn too, for readers who move there.
        after: as ``before``, right of the right edge.
    """

    start: int
    end: int
    origin: int
    left: float = 128
    right: float = WIDTH - 8
    before: int = 0
    after: int = 0

    @cached_property
    def first(self) -> int:
        """The earliest time that is drawn."""
        return self.start - self.before

    @cached_property
    def last(self) -> int:
        """The latest time that is drawn."""
        return self.end + self.after

    def x(self, time: int) -> float:
        """The x coordinate of a time; times that are not drawn are moved to the edge."""
        time = self.first if time < self.first else min(time, self.last)
        return self.left + (time - self.start) / self.length * (self.right - self.left)

    @cached_property
    def length(self) -> int:
        """Nanoseconds from edge to edge, at least one."""
        return max(self.end - self.start, 1)

    def ticks(self, about: int = 10) -> list[tuple[float, str]]:
        """Round times: their x coordinates and labels."""
        step = _round_step(self.length / about)
        decimals = max(0, 9 - (len(str(step)) - 1))
        first = -((self.origin - self.start) // step)  # the first round time not before start
        times = range(self.origin + first * step, self.end + 1, step)
        return [(self.x(time), f"{(time - self.origin) / 1e9:.{decimals}f} s") for time in times]

    @property
    def data(self) -> Mapping[str, float]:
        """What the page's script has to know of it: edges, and the times there in seconds."""
        return {
            "left": self.left,
            "right": self.right,
            "first": self.x(self.first),
            "last": self.x(self.last),
            "start": (self.start - self.origin) / 1e9,
            "end": (self.end - self.origin) / 1e9,
        }


def time_axis(scale: TimeScale, top: float, bottom: float) -> list[str]:
    """Fine lines at round times, labelled below ``bottom`` (15 units)."""
    parts = []
    for x, label in scale.ticks(max(int((scale.right - scale.left) / 95), 2)):
        parts.append(line(x, top, x, bottom, "grid"))
        at_edge = x > scale.right - 14
        words_x = scale.right if at_edge else x
        parts.append(
            text(words_x, bottom + 12, label, "tick", anchor="end" if at_edge else "middle")
        )
    return parts


def _round_step(at_least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20 ... that is not below ``at_least``."""
    step = 1
    while step * 10 < at_least:
        step *= 10
    return next(step * factor for factor in (1, 2, 5, 10) if step * factor >= at_least)


def _title(words: str) -> str:
    return f"<title>{escape(words)}</title>"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
