"""The page of what is on trial: how it went over the nights."""

from collections import defaultdict

from rumpus.nights.memory.evidence import Moments, geometric_mean
from rumpus.nights.memory.store_rows import thing_of
from rumpus.nights.pages.charts import Point, Seen, figure_chart, rate_chart, sparkline
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.grid import SHOWN
from rumpus.nights.pages.model import Line, SubjectModel
from rumpus.nights.pages.night_groups import SPARKS, seen_by_night
from rumpus.nights.pages.night_model import counts_of
from rumpus.nights.pages.places import failure_place, night_place, subject_place
from rumpus.results.figures import FIGURES


class _Past:
    """What came of a subject: by night, its outcomes and its figures."""

    def __init__(self) -> None:
        self.outcomes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.figures: dict[str, dict[str, Moments]] = defaultdict(dict)


def subject_models(gathered: Gathered) -> list[SubjectModel]:
    """All that was on trial, by name."""
    pasts: dict[str, _Past] = defaultdict(_Past)
    for night, tallies in gathered.tallies.items():
        for each in tallies:
            if each.role != "run":
                continue
            past = pasts[each.subject]
            for outcome, runs in each.outcomes.items():
                past.outcomes[night][outcome] += runs
            for name, moments in each.figures.items():
                before = past.figures[name].get(night, Moments())
                past.figures[name][night] = before + moments
    return [_model(gathered, key, pasts[key]) for key in sorted(pasts)]


def _model(gathered: Gathered, key: str, past: _Past) -> SubjectModel:
    names = [each.name for each in gathered.nights][-SHOWN:]
    counts = {name: counts_of(past.outcomes.get(name, {})) for name in names}
    rates = [Seen(name, broken, valid + broken) for name, (_, valid, broken, _) in counts.items()]
    figures = []
    for name, figure in FIGURES.items():
        means = [
            Point(night, geometric_mean(moments) if (moments := of.get(night)) else None)
            for of in [past.figures.get(name, {})]
            for night in names
        ]
        chart = figure_chart(means, figure.unit, f"{name} of {key}: {figure.words}, by night")
        if chart is not None:
            figures.append((name, figure.words, chart))
    failures = [
        Line(
            words=str(row.fingerprint),
            place=failure_place(row.id),
            detail=f"{row.first_night} to {row.last_night}",
            picture=sparkline(seen_by_night(gathered, row)[-SPARKS:], str(row)),
        )
        for row in gathered.failures.values()
        if f"{row.workload} / {row.recipe}" == thing_of(key)
    ]
    return SubjectModel(
        key=key,
        place=subject_place(key),
        rate=rate_chart(rates, f"how many judged runs of {key} broke a promise, by night")
        if any(each.hits for each in rates)
        else None,
        figures=figures,
        failures=failures,
        nights=[(name, night_place(name), counts[name]) for name in names[::-1] if counts[name][0]],
    )
