"""The page of what is on trial: how it went over the nights."""

from collections import defaultdict
from itertools import chain

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


class Past:
    """What came of a subject in the newest nights: by night, its outcomes and its figures."""

    def __init__(self) -> None:
        self.outcomes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.figures: dict[str, dict[str, Moments]] = defaultdict(dict)


def subject_pasts(gathered: Gathered) -> dict[str, Past]:
    """By the key of all that was ever on trial, sorted, what came of it."""
    pasts: dict[str, Past] = {}
    for each in chain.from_iterable(gathered.tallies.values()):
        if each.role == "run":
            pasts.setdefault(each.subject, Past())
    for night in gathered.nights[-SHOWN:]:
        for each in gathered.of(night.name, "run"):
            past = pasts[each.subject]
            for outcome, runs in each.outcomes.items():
                past.outcomes[night.name][outcome] += runs
            for name, moments in each.figures.items():
                before = past.figures[name].get(night.name, Moments())
                past.figures[name][night.name] = before + moments
    return dict(sorted(pasts.items()))


def subject_model(gathered: Gathered, key: str, past: Past) -> SubjectModel:
    """What the page of a subject says.

    Args:
        gathered: the store.
        key: the subject's.
        past: what came of it.
    """
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
