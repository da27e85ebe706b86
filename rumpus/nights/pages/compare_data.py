"""What the page that compares any two nights has to know: counts, to be put side by side."""

import math
from typing import Any, Final

from rumpus.nights.memory.evidence import Moments, geometric_mean
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.places import failure_place, subject_place
from rumpus.results.escapes import escaped
from rumpus.results.figures import FIGURES

MOST: Final = 60
"""How many nights can be compared on the page: the newest. `rumpus compare` compares any."""

_FIGURES: Final = ("latency", "latency-p99", "throughput", "handover", "switching", "recovery")


def compare_data(gathered: Gathered) -> dict[str, Any]:
    """As plain data: nights, subjects and failures, and by night the counts of these.

    ``runs`` has for each night, by the place of a subject in ``subjects``: violations, judged runs
    and the means of ``figures``, None where there is none. ``shown`` has, by the place of a failure
    in ``failures``, how many runs showed it. Words are escaped.
    """
    nights = gathered.nights[-MOST:]
    subjects: dict[str, int] = {}
    failures = {identifier: place for place, identifier in enumerate(gathered.failures)}
    runs, shown = [], []
    for night in nights:
        of_night: dict[str, tuple[list[int], dict[str, Moments]]] = {}
        for each in gathered.of(night.name, "run"):
            counts, figures = of_night.setdefault(each.subject, ([0, 0], {}))
            broken = each.outcomes.get("violation", 0)
            counts[0] += broken
            counts[1] += broken + each.outcomes.get("valid", 0)
            for name in _FIGURES:
                if name in each.figures:
                    figures[name] = figures.get(name, Moments()) + each.figures[name]
        runs.append(
            {
                subjects.setdefault(key, len(subjects)): [
                    *counts,
                    *(_mean(figures.get(name)) for name in _FIGURES),
                ]
                for key, (counts, figures) in of_night.items()
            }
        )
        of = gathered.shown
        shown.append({failures[e]: of[e][night.name] for e in of if night.name in of[e]})
    return {
        "nights": [[escaped(each.name), escaped(each.branch)] for each in nights],
        "subjects": [[escaped(key), subject_place(key)] for key in subjects],
        "failures": [[escaped(str(e)), failure_place(e.id)] for e in gathered.failures.values()],
        "figures": [[name, FIGURES[name].unit] for name in _FIGURES],
        "runs": runs,
        "shown": shown,
    }


def _mean(moments: Moments | None) -> float | None:
    if moments is None or not moments.count:
        return None
    value = geometric_mean(moments).value
    return float(f"{value:.4g}") if math.isfinite(value) else None
