"""Compares the runs of two sides: which failures are new, and what has become worse.

What both sides ran is compared, and nothing else: a subject that only one of them had, or a kind of
run, tells nothing about a change. Runs of the same subject and kind are a stratum; strata are
compared one by one and taken together (``memory.evidence``), as nights spend different
shares of their runs on each.

Runs of the role ``run`` count. Runs of kept cases (``case``) are replays of runs that were chosen
because they fail, so they say nothing about a rate. But they do show whether a failure is there:
of a case that both sides performed, the runs count for what is new, known or gone, too. Canaries,
and runs that are performed again, do not count.

A failure is

- *known* if both sides saw it;
- *new* if only B saw it;
- *gone* if only A saw it, and B's runs would have shown it, at the rates at which A's runs did,
  with a probability of 95 % or more;
- *flaky* if only A saw it, but B may well have missed it at these rates.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from rumpus.nights.comparing.comparison import (
    NONE,
    RATE,
    Change,
    Comparison,
    FailureChange,
    Judged,
    State,
)
from rumpus.nights.comparing.sides import Side
from rumpus.nights.memory.evidence import (
    LEVEL,
    Moments,
    Table,
    absence,
    difference,
    fisher,
    geometric_mean,
    holm,
    welch,
    wilson,
)
from rumpus.nights.memory.store_rows import thing_of
from rumpus.nights.records import FailureRow
from rumpus.results.figures import FIGURES

LEAST_CHANGE: Final = 1.1
"""By what factor a figure must be worse to be a regression, beside that there is evidence."""

_Place = tuple[str, str, str]
"""Of a stratum: subject, kind of run, name of the case."""

_ORDER: Final = ("new", "known", "flaky", "gone")


class _Group(msgspec.Struct):
    """The runs of a stratum on one side."""

    judged: int = 0
    broken: int = 0
    shown: dict[str, int] = {}
    figures: dict[str, Moments] = {}


_Strata = dict[_Place, tuple[_Group, _Group]]


def compare(a: Side, b: Side) -> Comparison:
    """Compare two sides.

    Args:
        a: what was.
        b: what is.
    """
    if "version" in (a.what, b.what):
        a, b = a.without_software(), b.without_software()
    # A run alone says neither which faults its failure needs nor of what kind it is, so neither
    # may the other side.
    alone = "runs" in (a.what, b.what)
    naming = _alike if alone else _exact
    groups = [_groups(side, naming, kinds=not alone) for side in (a, b)]
    common: _Strata = {
        place: (groups[0][place], groups[1][place])
        for place in sorted(groups[0].keys() & groups[1].keys())
    }
    runs = {place: pair for place, pair in common.items() if not place[2]}
    subjects = tuple(dict.fromkeys(subject for subject, _, _ in common))
    every = [{subject for subject, _, _ in each} - set(subjects) for each in groups]
    by_knowledge = sorted((a, b), key=lambda side: side.what != "runs")
    known = {naming(row): row for side in by_knowledge for row in side.failures.values()}
    seen = tuple({name for each in side.values() for name in each.shown} for side in groups)
    failures = [
        _failure(row, _tables(name, row, common), (name in seen[0], name in seen[1]))
        for name, row in known.items()
    ]
    return Comparison(
        a=a.name,
        b=b.name,
        nights=(a.nights, b.nights),
        runs=(sum(x.judged for x, _ in runs.values()), sum(y.judged for _, y in runs.values())),
        subjects=subjects,
        only=(tuple(sorted(every[0])), tuple(sorted(every[1]))),
        failures=tuple(sorted((each for each in failures if each is not None), key=_order)),
        changes=tuple(_changes(runs)),
    )


def _exact(row: FailureRow) -> str:
    return row.id


def _alike(row: FailureRow) -> str:
    seen = row.fingerprint
    return "\0".join([row.workload, row.recipe, seen.kind, *seen.operations])


def _groups(
    side: Side, naming: Callable[[FailureRow], str], *, kinds: bool
) -> dict[_Place, _Group]:
    """The strata of a side, of runs that were judged.

    Args:
        side: which.
        naming: what failures are known by.
        kinds: whether runs of different kinds are in different strata.
    """
    found: dict[_Place, _Group] = {}
    for each in side.tallies:
        judged = each.outcomes.get("valid", 0) + each.outcomes.get("violation", 0)
        if each.role not in ("run", "case") or not judged:
            continue
        name = (each.name or each.kind) if each.role == "case" else ""
        kind = each.kind if kinds else ""
        group = found.setdefault((each.subject, kind, name), _Group())
        group.judged += judged
        group.broken += each.outcomes.get("violation", 0)
        for failure, count in each.shown.items():
            shown = naming(side.failures[failure])
            group.shown[shown] = min(group.judged, group.shown.get(shown, 0) + count)
        for figure, moments in each.figures.items():
            group.figures[figure] = group.figures.get(figure, Moments()) + moments
    return found


def _tables(name: str, row: FailureRow, common: _Strata) -> dict[_Place, Table]:
    """By stratum, how many runs showed a failure and how many could have."""
    return {
        place: Table(a.shown.get(name, 0), a.judged, b.shown.get(name, 0), b.judged)
        for place, (a, b) in common.items()
        if thing_of(place[0]) == f"{row.workload} / {row.recipe}"
    }


def _failure(
    row: FailureRow, tables: dict[_Place, Table], saw: tuple[bool, bool]
) -> FailureChange | None:
    """What has become of a failure; None if no run that is compared has shown it.

    Args:
        row: the failure.
        tables: of what both sides ran.
        saw: whether side A has seen it in any run, compared or not; likewise side B.
    """
    runs = [table for (_, _, case), table in tables.items() if not case]
    seen = [table for table in tables.values() if table.a_hits or table.b_hits]
    if not seen:
        return None
    missed = None if saw[1] else absence(seen)
    if missed is not None:
        state: State = "gone" if missed < LEVEL else "flaky"
    else:
        state = "known" if saw[0] else "new"
    return FailureChange(
        id=row.id,
        failure=str(row),
        state=state,
        a=(sum(each.a_hits for each in runs), sum(each.a_runs for each in runs)),
        b=(sum(each.b_hits for each in runs), sum(each.b_runs for each in runs)),
        missed=missed,
        by_case=not any(each.a_hits or each.b_hits for each in runs),
    )


def _changes(runs: _Strata) -> list[Change]:
    """All that can be compared: of each subject, and of all together if there are several."""
    by_subject: dict[str, list[tuple[_Group, _Group]]] = {}
    for (subject, _, _), pair in runs.items():
        by_subject.setdefault(subject, []).append(pair)
    if len(by_subject) > 1:
        by_subject = {"": list(runs.values()), **by_subject}
    found = []
    for subject, strata in by_subject.items():
        every = [_rate(subject, strata), *(_figure(name, subject, strata) for name in FIGURES)]
        found += [each for each in every if each is not None]
    adjusted = holm([each.probability for each in found])
    judged = [_judged(each, chance) for each, chance in zip(found, adjusted, strict=True)]
    return sorted(judged, key=lambda each: (not each.regression, each.verdict == NONE))


def _rate(subject: str, strata: Sequence[tuple[_Group, _Group]]) -> Change | None:
    """How often runs were violations; None if none was: then there is nothing to compare."""
    tables = [Table(a.broken, a.judged, b.broken, b.judged) for a, b in strata]
    a = wilson(sum(each.a_hits for each in tables), sum(each.a_runs for each in tables))
    b = wilson(sum(each.b_hits for each in tables), sum(each.b_runs for each in tables))
    if not a.value + b.value:
        return None
    return Change(
        what=RATE,
        subject=subject,
        a=a,
        b=b,
        runs=(sum(each.a_runs for each in tables), sum(each.b_runs for each in tables)),
        change=difference(tables),
        probability=fisher(tables),
    )


def _figure(figure: str, subject: str, strata: Sequence[tuple[_Group, _Group]]) -> Change | None:
    """A figure on both sides; None if one side has too few values."""
    pairs = [
        (a.figures.get(figure, Moments()), b.figures.get(figure, Moments())) for a, b in strata
    ]
    ratio = welch(pairs)
    if ratio is None:
        return None
    fit = [(a, b) for a, b in pairs if a.count > 1 and b.count > 1]
    sides = [sum(side, Moments()) for side in zip(*fit, strict=True)]
    a, b = map(geometric_mean, sides)
    return Change(
        what=figure,
        subject=subject,
        a=a,
        b=b,
        runs=(sides[0].count, sides[1].count),
        change=ratio.factor,
        probability=ratio.probability,
    )


def _judged(change: Change, adjusted: float) -> Change:
    """A change with what can be said of it, now that all comparisons are known."""
    if adjusted > LEVEL:
        return msgspec.structs.replace(change, adjusted=adjusted)
    if change.what == RATE:
        worse = change.change.value > 0
        verdict: Judged = "worse" if worse else "better"
        return msgspec.structs.replace(change, adjusted=adjusted, verdict=verdict, regression=worse)
    better, factor = FIGURES[change.what].better, change.change.value
    if better is None:
        return msgspec.structs.replace(change, adjusted=adjusted, verdict="changed")
    by = factor if better == "lower" else 1 / factor
    verdict = "worse" if by > 1 else "better"
    return msgspec.structs.replace(
        change, adjusted=adjusted, verdict=verdict, regression=by > LEAST_CHANGE
    )


def _order(change: FailureChange) -> tuple[int, str]:
    return _ORDER.index(change.state), change.failure
