"""Small pictures of nights in a row: how often a failure was seen, and how a figure went."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from rumpus.nights.comparing.comparison_text import digits_of
from rumpus.nights.memory.evidence import Estimate
from rumpus.results.pictures.svg import line, path, picture, rect, text

_STEP: Final = 8
_HIGH: Final = 22
_LARGE: Final = (720, 130)
_LEFT, _TOP, _BELOW = 62, 10, 22


class Seen(msgspec.Struct, frozen=True):
    """How many runs of a night showed something, of how many; 0 of 0: there were none."""

    night: str
    hits: int
    runs: int


class Point(msgspec.Struct, frozen=True):
    """A figure of a night with its interval; None: it has none."""

    night: str
    value: Estimate | None


def sparkline(seen: Sequence[Seen], what: str, *, expected: bool = False) -> Markup:
    """A line of bars, one a night: the higher, the more runs showed it; a dot: none did.

    Args:
        seen: oldest night first.
        what: what is seen, for those who do not see the picture.
        expected: whether that is as it should be, so that the bars are no alarm.
    """
    most = max((_share(each) for each in seen), default=0.0) or 1.0
    bars, dots = [], []
    for number, each in enumerate(seen):
        x = number * _STEP + 3
        if each.hits:
            height = max(4.0, _share(each) / most * (_HIGH - 2))
            bars.append(f"M{x} {_HIGH}v-{height:.1f}")
        elif each.runs:
            dots.append(f"M{x} {_HIGH - 1}v-2")
    parts = [path("".join(dots), "looked")] if dots else []
    parts += [path("".join(bars), "seen foreseen" if expected else "seen")] if bars else []
    nights = sum(each.hits > 0 for each in seen)
    looked = sum(each.runs > 0 for each in seen)
    said = f"{what}: seen in {nights} of the {looked} nights that looked for it"
    return picture(_HIGH, parts, said, width=max(1, len(seen)) * _STEP)


def rate_chart(seen: Sequence[Seen], what: str) -> Markup:
    """The share of runs that showed something, night by night, with words on each bar."""
    width, height = _LARGE
    most = max((_share(each) for each in seen), default=0.0) or 1.0
    room = (width - _LEFT - 8) / max(1, len(seen))
    bottom = height - _BELOW
    parts = _axes([each.night for each in seen], "0 %", f"{digits_of(100 * most)} %")
    for number, each in enumerate(seen):
        x, wide = _LEFT + number * room + room * 0.15, min(40.0, room * 0.7)
        said = f"{each.night}: {each.hits} of {each.runs} runs"
        if each.hits:
            tall = max(3.0, _share(each) / most * (bottom - _TOP))
            parts.append(rect(x, bottom - tall, wide, tall, "seen", said))
        elif each.runs:
            parts.append(rect(x, bottom - 3, wide, 3, "looked", said))
    return picture(height, parts, what, width=width)


def figure_chart(points: Sequence[Point], unit: str, what: str) -> Markup | None:
    """A figure night by night: its mean, and a bar for the interval of 95 %; None of none."""
    known = [each.value for each in points if each.value is not None]
    if not known:
        return None
    width, height = _LARGE
    bottom = height - _BELOW
    low = min(each.low if each.low > 0 else each.value for each in known)
    high = max(each.high if math.isfinite(each.high) else each.value for each in known)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low * 0.9, high * 1.1 or 1.0
    room = (width - _LEFT - 8) / max(1, len(points))

    def y(value: float) -> float:
        inside = min(max(value, low), high)
        return bottom - (inside - low) / (high - low) * (bottom - _TOP)

    words = [f"{digits_of(each)}{' ' * bool(unit)}{unit}" for each in (low, high)]
    parts = _axes([each.night for each in points], *words)
    shape, pen = [], "M"
    for number, each in enumerate(points):
        if each.value is None:
            pen = "M"
            continue
        x = _LEFT + (number + 0.5) * room
        parts.append(line(x, y(each.value.low), x, y(min(each.value.high, high)), "interval"))
        shape.append(f"{pen}{x:.1f} {y(each.value.value):.1f}")
        said = f"{each.night}: {digits_of(each.value.value)} {unit}".rstrip()
        parts.append(rect(x - 3, y(each.value.value) - 3, 6, 6, "point", said))
        pen = "L"
    parts.append(path("".join(shape), "course"))
    return picture(height, parts, what, width=width)


def _axes(nights: Sequence[str], low: str, high: str) -> list[str]:
    width, height = _LARGE
    bottom = height - _BELOW
    parts = [
        line(_LEFT, bottom, width - 8, bottom, "axis"),
        line(_LEFT, _TOP, width - 8, _TOP, "grid"),
        text(_LEFT - 6, bottom + 3, low, "tick", anchor="end"),
        text(_LEFT - 6, _TOP + 4, high, "tick", anchor="end"),
    ]
    if nights:
        parts.append(text(_LEFT, height - 6, nights[0][:40], "tick"))
    if len(nights) > 1:
        parts.append(text(width - 8, height - 6, nights[-1][:40], "tick", anchor="end"))
    return parts


def _share(seen: Seen) -> float:
    return min(1.0, seen.hits / seen.runs) if seen.runs else float(seen.hits > 0)
