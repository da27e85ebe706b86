"""How soon nights tell that something is worse, and how often they do so wrongly.

Drawn nights, each of 200 runs, 30 of them before a change. *told*: the share of changes that stand
as an alarm after five nights. *nights*: how many nights the change had lasted when it was told,
median. *false*: alarms in 1,000 nights without a change, which are looked at night by night.

Figures: each night's mean differs by 3 % from the others' (standard deviation), its runs by 20 %.

``python -m benchmarks.trends [--quick]``
"""

import math
import random
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.command_line import Scale, run_alone
from rumpus.nights.memory.change_points import Alarm, Night, figure_alarm, rate_alarm
from rumpus.nights.memory.evidence import Moments

RUNS = 200
BEFORE, AFTER = 30, 5
CHANGES = 1_000
QUIET = 10_000
"""Nights without a change."""

IN_A_ROW = 100
"""So many of them are one series."""

RATES = [(0.0, 0.01), (0.05, 0.10), (0.001, 0.02), (0.3, 0.4)]
FACTORS = [1.12, 1.25, 1.5]
SPREAD, WITHIN = 0.03, 0.2


def rated(source: random.Random, rate: float) -> Night:
    return Night(sum(source.random() < rate for _ in range(RUNS)), RUNS)


def measured(source: random.Random, level: float) -> Moments:
    middle = math.log(level) + source.gauss(0, SPREAD)
    logs = [middle + source.gauss(0, WITHIN) for _ in range(RUNS)]
    return Moments(RUNS, math.fsum(logs), math.fsum(each * each for each in logs))


def told(
    night: Callable[[random.Random, float], Any],
    alarm: Callable[[Sequence[Any]], Alarm | None],
    was: float,
    now: float,
    changes: int,
) -> tuple[float, float]:
    """The share of changes that are told, and after how many nights."""
    after: list[int] = []
    for seed in range(changes):
        source = random.Random(f"{seed} {was} {now}")
        nights = [night(source, was) for _ in range(BEFORE)]
        nights += [night(source, now) for _ in range(AFTER)]
        found = alarm(nights)
        if found is not None and found.raised >= BEFORE:
            after.append(found.raised - BEFORE + 1)
    return len(after) / changes, median(after) if after else math.nan


def false_alarms(
    night: Callable[[random.Random, float], Any],
    alarm: Callable[[Sequence[Any]], Alarm | None],
    level: float,
    nights: int,
) -> float:
    """Alarms in 1,000 nights of one level."""
    count = 0
    for seed in range(max(1, nights // IN_A_ROW)):
        source = random.Random(f"{seed} {level}")
        series = [night(source, level) for _ in range(IN_A_ROW)]
        found = (alarm(series[:end]) for end in range(1, IN_A_ROW + 1))
        count += len({each.raised for each in found if each is not None})
    return 1000 * count / max(IN_A_ROW, nights)


def measure(scale: Scale) -> Table:
    table = Table("what", "from", "to", "told", "nights", "false", title="trends over nights")
    changes, quiet = scale.count(CHANGES), scale.count(QUIET)
    for was, now in RATES:
        share, nights = told(rated, rate_alarm, was, now, changes)
        false = false_alarms(rated, rate_alarm, was, quiet)
        table.add_row(
            "rate",
            f"{was:.1%}",
            f"{now:.1%}",
            f"{share:.1%}",
            f"{nights:.0f}",
            f"{false:.1f}",
        )
    quiet_figures = false_alarms(measured, figure_alarm, 10.0, quiet // 10)
    for factor in FACTORS:
        share, nights = told(measured, figure_alarm, 10.0, 10.0 * factor, changes // 4 or 1)
        table.add_row(
            "figure", "1", f"{factor}", f"{share:.1%}", f"{nights:.0f}", f"{quiet_figures:.1f}"
        )
    return table


if __name__ == "__main__":
    run_alone(__doc__, measure)
