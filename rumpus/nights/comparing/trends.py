"""Alarms over nights: rates and figures of a subject that are worse since some night.

``comparing`` says what differs between two sides. A night alone has too few runs of a subject to
show a rate that grows from 0 to 1 %, and forgets one that has been worse for a week. Here each
night is an entry of a series, and ``memory.change_points`` says when the series has changed.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from rumpus.nights.comparing.comparison import RATE
from rumpus.nights.memory.change_points import LONGEST, Alarm, Night, figure_alarm, rate_alarm
from rumpus.nights.memory.evidence import Moments
from rumpus.nights.memory.store_rows import Tally
from rumpus.nights.records import NightRow
from rumpus.results.figures import FIGURES


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm that stands.

    Attributes:
        subject: of which subject.
        what: ``failure rate``, or the name of a figure.
        first: the night with which the change began.
        raised: the night by which there was enough evidence.
        before: the rate, or the geometric mean of the figure, until then; likewise ``after``.
        evidence: the logarithm of the odds for it (nats).
    """

    subject: str
    what: str
    first: str
    raised: str
    before: float
    after: float
    evidence: float

    def __str__(self) -> str:
        """Such as ``failure rate of lock / fair, sim: from 0.5 % to 4 % since 2026-11-20``."""
        return f"{self.what} of {self.subject}: {self.change} since {self.first}"

    @property
    def change(self) -> str:
        """Such as ``from 0.5 % to 4 %``."""
        if self.what == RATE:
            return f"from {100 * self.before:.2g} % to {100 * self.after:.2g} %"
        unit = FIGURES[self.what].unit
        return f"from {self.before:.3g} to {self.after:.3g} {unit}".rstrip()


class _Series(NamedTuple):
    """A subject's nights: name of the night -> what it has seen."""

    rates: dict[str, Night]
    figures: dict[str, dict[str, Moments]]


def standing_trends(
    nights: Sequence[NightRow], tallies: Mapping[str, Iterable[Tally]]
) -> list[Trend]:
    """The alarms that stand after the newest night, by the nights of its branch.

    A branch may differ from others for good, so only its own nights count.

    Args:
        nights: oldest first.
        tallies: by the name of a night, what came of its runs.
    """
    if not nights:
        return []
    names = branch_nights(nights)
    return trends(names, (each for name in names for each in tallies.get(name, ())))


def branch_nights(nights: Sequence[NightRow]) -> list[str]:
    """The names of the last `LONGEST` nights of the newest one's branch; all oldest first."""
    return [each.name for each in nights if each.branch == nights[-1].branch][-LONGEST:]


def trends(nights: Sequence[str], tallies: Iterable[Tally]) -> list[Trend]:
    """The alarms that stand after the last night, those with most evidence first.

    Runs of cases and canaries say nothing of a rate: only those of the role ``run`` count. Runs of
    other kinds, and with other versions, are taken together: a version that makes it worse is a
    change, too.

    Args:
        nights: names, oldest first.
        tallies: what came of their runs.
    """
    series = _series(tallies)
    judged = {name for name, figure in FIGURES.items() if figure.better is not None}
    count = sum(1 + len(each.figures.keys() & judged) for each in series.values())
    found = [
        Trend(
            subject=subject,
            what=what,
            first=names[alarm.change.first],
            raised=names[alarm.raised],
            before=alarm.change.before,
            after=alarm.change.after,
            evidence=alarm.change.evidence,
        )
        for subject, each in series.items()
        for what, names, alarm in _alarms(each, nights, max(1, count), judged)
    ]
    return sorted(found, key=lambda each: -each.evidence)


def _series(tallies: Iterable[Tally]) -> dict[str, _Series]:
    found: dict[str, _Series] = defaultdict(lambda: _Series({}, defaultdict(dict)))
    for tally in tallies:
        broken = tally.outcomes.get("violation", 0)
        runs = broken + tally.outcomes.get("valid", 0)
        if tally.role != "run" or not runs:
            continue
        series = found[tally.subject]
        was = series.rates.get(tally.night, Night(0, 0))
        series.rates[tally.night] = Night(was.hits + broken, was.runs + runs)
        for name, moments in tally.figures.items():
            of_night = series.figures[name]
            of_night[tally.night] = of_night.get(tally.night, Moments()) + moments
    return found


def _alarms(
    series: _Series, nights: Sequence[str], count: int, judged: set[str]
) -> Iterator[tuple[str, list[str], Alarm]]:
    """What it is about, the nights of the series, and the alarm."""
    names = [night for night in nights if night in series.rates]
    alarm = rate_alarm([series.rates[night] for night in names], count)
    if alarm is not None:
        yield RATE, names, alarm
    for what in sorted(series.figures.keys() & judged):
        of_nights = series.figures[what]
        names = [night for night in nights if night in of_nights]
        values = [of_nights[night] for night in names]
        lower = FIGURES[what].better == "lower"
        alarm = figure_alarm(values, count, larger_is_worse=lower)
        if alarm is not None and math.isfinite(alarm.change.after):
            yield what, names, alarm
