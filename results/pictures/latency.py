"""Pictures of latency and throughput: how long operations took, and how many ended a second."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from markupsafe import Markup

from rumpus.checker.history import Operation
from rumpus.checker.quantile import quantile
from rumpus.results.operation_statistics import latency_ms
from rumpus.results.pictures.lanes import Lanes
from rumpus.results.pictures.svg import TimeScale, line, path, picture, text, time_axis
from rumpus.results.pictures.timeline import fault_bands, fault_labels

_HEIGHT = 150.0
_RATE_HEIGHT = 90.0
_BINS = 120


def draw_latency(lanes: Lanes, f: str, operations: Sequence[Operation]) -> Markup:
    """Latencies of one kind of operation over time, on a logarithmic scale.

    Every operation is a dot at the time of its call; of dots on the same spot one is drawn. Lines
    show the median and the 99th percentile of the operations that ended ok.
    """
    scale = TimeScale(lanes.start, lanes.end, lanes.start)
    labels, top = fault_labels(lanes, scale)
    bottom = top + _HEIGHT
    timed = [
        (operation, max(latency, 1e-3))
        for operation in operations
        if (latency := latency_ms(operation)) is not None
    ]
    low, high = _decades([latency for _, latency in timed])

    def y(latency: float) -> float:
        return bottom - (math.log10(latency) - low) / (high - low) * _HEIGHT

    dots: dict[str, set[tuple[int, int]]] = {}
    for operation, latency in timed:
        spot = (round(scale.x(operation.invoke.time)), round(y(latency)))
        dots.setdefault(operation.outcome, set()).add(spot)
    parts = [*fault_bands(lanes, scale, top, bottom), *time_axis(scale, top, bottom)]
    for decade in range(low, high + 1):
        parts.append(line(scale.left, y(10.0**decade), scale.right, y(10.0**decade), "grid"))
        parts.append(text(122, y(10.0**decade) + 3, _power_of_ten(decade), "tick", anchor="end"))
    parts += _dots("ok", dots.get("ok", set()), "h1.4")
    parts += _quantile_lines(timed, scale, y)
    parts += _dots("fail", dots.get("fail", set()), "m-3 0h6m-3 -3v6")
    parts += _dots("info", dots.get("info", set()), "m-3 -3l6 6m0 -6l-6 6")
    description = f"latency of {f} over time"
    return picture(bottom + 18, [*parts, *labels], description)


def draw_rate(lanes: Lanes, operations: Sequence[Operation]) -> Markup:
    """Operations completed per second over time, by how they ended."""
    scale = TimeScale(lanes.start, lanes.end, lanes.start)
    labels, top = fault_labels(lanes, scale)
    bottom = top + _RATE_HEIGHT
    counts = {outcome: [0] * _BINS for outcome in ("ok", "fail", "info")}
    for operation in operations:
        if operation.completion is not None:
            counts[operation.outcome][_bin(operation.completion.time, scale)] += 1
    bin_seconds = scale.length / _BINS / 1e9
    most = max(max(bins) for bins in counts.values()) / bin_seconds
    peak = _round_up(most)
    parts = [*fault_bands(lanes, scale, top, bottom), *time_axis(scale, top, bottom)]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _RATE_HEIGHT
        parts.append(line(scale.left, y, scale.right, y, "grid"))
        parts.append(text(122, y + 3, f"{share * peak:,g} /s", "tick", anchor="end"))
    for outcome, bins in counts.items():
        heights = [count / bin_seconds / peak * _RATE_HEIGHT for count in bins]
        if any(heights):
            # Failures are rare: a low bar of them is made high enough to be seen.
            least = 0.0 if outcome == "ok" else 2.5
            heights = [max(height, least) if height else 0.0 for height in heights]
            parts.append(_steps(heights, scale, bottom, f"rate-{outcome}"))
    return picture(bottom + 18, [*parts, *labels], "operations completed a second over time")


def _quantile_lines(
    timed: Sequence[tuple[Operation, float]], scale: TimeScale, y: Callable[[float], float]
) -> list[str]:
    """Median and 99th percentile of each bin of time, as broken lines."""
    bins: dict[int, list[float]] = {}
    for operation, latency in timed:
        if operation.outcome == "ok":
            bins.setdefault(_bin(operation.invoke.time, scale), []).append(latency)
    width = (scale.right - scale.left) / _BINS
    parts = []
    for share, style in ((0.5, "median"), (0.99, "p99")):
        points = [
            (number, y(value))
            for number in sorted(bins)
            if (value := quantile(sorted(bins[number]), share)) is not None
        ]
        d = ""
        for (before, _), (number, height) in pairwise([(-2, 0.0), *points]):
            # A bin without operations interrupts the line: nothing was measured there.
            x = scale.left + (number + 0.5) * width
            d += f"{'L' if number == before + 1 else 'M'}{x:.0f} {height:.1f}"
            d += "h1" if number != before + 1 else ""
        parts.append(path(d, style))
    return parts


def _dots(outcome: str, spots: set[tuple[int, int]], shape: str) -> list[str]:
    if not spots:
        return []
    d = "".join(f"M{x} {y}{shape}" for x, y in sorted(spots))
    return [path(d, f"dot dot-{outcome}", f"ended {outcome}")]


def _steps(heights: Sequence[float], scale: TimeScale, bottom: float, style: str) -> str:
    width = (scale.right - scale.left) / len(heights)
    d = f"M{scale.left:.1f} {bottom:.1f}"
    for height in heights:
        d += f"V{bottom - height:.1f}h{width:.2f}"
    return path(f"{d}V{bottom:.1f}", style)


def _power_of_ten(decade: int) -> str:
    """A power of ten, in milliseconds, as a label: ``0.1 ms``, ``10 ms``, ``1 s``."""
    return f"{10 ** (decade - 3):,} s" if decade >= 3 else f"{10.0**decade:g} ms"


def _bin(time: int, scale: TimeScale) -> int:
    return min((time - scale.start) * _BINS // scale.length, _BINS - 1)


def _decades(latencies: Sequence[float]) -> tuple[int, int]:
    """Exponents of the powers of ten (of a ms) that enclose all latencies, at least two apart."""
    if not latencies:
        return -1, 2
    low = math.floor(math.log10(min(latencies)))
    return low, max(math.ceil(math.log10(max(latencies))), low + 2)


def _round_up(rate: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... that is not below a rate."""
    decade = 10.0 ** math.floor(math.log10(max(rate, 1.0)))
    return next(decade * step for step in (1, 2, 5, 10) if decade * step >= rate)
