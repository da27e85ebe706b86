"""What has to be known of a night, in groups, gravest first."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rumpus.nights.comparing.comparison import RATE, Change, Comparison
from rumpus.nights.comparing.comparison_text import change_cells
from rumpus.nights.comparing.trends import standing_trends
from rumpus.nights.documents.document import (
    FailureResult,
    NightDocument,
    is_undecided,
    is_unexercised,
    outcomes_of,
)
from rumpus.nights.documents.summary import many
from rumpus.nights.pages.charts import Seen, sparkline
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.model import Group, Kind, Line
from rumpus.nights.pages.places import failure_place, subject_place
from rumpus.nights.pages.standing import document_of, standing
from rumpus.nights.records import FailureRow, NightRow

SPARKS: Final = 30
"""How many nights a small picture shows."""


KINDS: Final = (
    Kind(
        "new",
        "violation",
        "New failures",
        "A promise was broken in a way that no night before has seen.",
    ),
    Kind(
        "back",
        "violation",
        "Cases that are back",
        "Kept cases of flaws that were mended show a failure again.",
    ),
    Kind(
        "known",
        "violation",
        "Still broken",
        "Nights before have seen these, and nobody has said that they are expected.",
    ),
    Kind(
        "failed",
        "violation",
        "Commands and expectations",
        "Other tests of the night failed, or the date of an expected failure is over.",
    ),
    Kind(
        "blind",
        "violation",
        "Blind checks",
        "A known mistake was put in and was not found. What the night says of its family cannot be "
        "trusted.",
    ),
    Kind(
        "trouble",
        "violation",
        "Trouble",
        "What kept the night from looking where it should have looked.",
    ),
    Kind(
        "stale",
        "open",
        "Stale cases",
        "They are to show a failure and do not: nobody knows whether the flaw is mended or the run "
        "has changed.",
    ),
    Kind(
        "worse",
        "open",
        "Slower, or failing more often",
        "There is evidence that these are worse than the night before.",
    ),
    Kind(
        "trend",
        "open",
        "Worse for some nights",
        "The nights of this branch, taken together, are evidence of it; one alone need not be.",
    ),
    Kind(
        "open",
        "open",
        "Not really tested",
        "Nothing was exercised or decided, or there was no turn.",
    ),
    Kind(
        "gone",
        "valid",
        "Gone",
        "The night before saw these; that this one only missed them is improbable.",
    ),
    Kind(
        "better",
        "valid",
        "Better",
        "There is evidence that these are better than the night before.",
    ),
    Kind(
        "missed",
        "plain",
        "Not seen this time",
        "The night before saw these; this one may well have missed them.",
    ),
    Kind(
        "expected",
        "plain",
        "Expected",
        "Failures that a file of the repository or a kept case explains.",
    ),
    Kind("note", "plain", "To be known", "What else has to be known to read this right."),
)
"""All groups, gravest first."""


def groups_of(
    gathered: Gathered, night: NightRow, comparison: Comparison | None
) -> Sequence[Group]:
    """All groups, those without lines too, so that it can be said that there is nothing in them.

    Args:
        gathered: the store.
        night: which night.
        comparison: of the night before with this one; None if there was none before.
    """
    told = document_of(gathered, night)
    failures = standing(gathered, night)

    def of(*states: str) -> list[Line]:
        return [_failure(gathered, night, e) for e in failures if e.state in states]

    def unseen(state: str) -> list[Line]:
        changes = comparison.failures if comparison is not None else ()
        rows = [gathered.failures[each.id] for each in changes if each.state == state]
        return [_past(gathered, night, row) for row in rows]

    lines: dict[str, Sequence[Line]] = {
        "new": of("new"),
        "back": _cases(told, "regression"),
        "known": of("known"),
        "failed": list(_failed(told)),
        "blind": list(_canaries(told, "blind")),
        "trouble": [Line(words=each.what, detail=_cost(each.runs)) for each in night.troubles],
        "stale": _cases(told, "stale"),
        "worse": _changes(comparison, lambda each: each.regression),
        "trend": _trends(gathered, night),
        "open": [*_open(gathered, night), *_left(told)],
        "gone": unseen("gone"),
        "better": _changes(comparison, lambda each: each.verdict == "better"),
        "missed": unseen("flaky"),
        "expected": [
            *of("expected", "base"),
            *(Line(words=f"{each} was not seen") for each in told.gone),
        ],
        "note": list(_notes(told)),
    }
    return [Group(kind=kind, lines=lines[kind.tag]) for kind in KINDS]


def seen_by_night(gathered: Gathered, row: FailureRow, until: NightRow | None = None) -> list[Seen]:
    """How often each night saw a failure, oldest first.

    Args:
        gathered: the store.
        row: the failure.
        until: the last night that counts; None: the newest.
    """
    shown = gathered.shown.get(row.id, {})
    performed = gathered.performed.get(f"{row.workload} / {row.recipe}", {})
    nights = list(gathered.nights)
    if until is not None:
        nights = nights[: nights.index(until) + 1]
    return [Seen(e.name, shown.get(e.name, 0), performed.get(e.name, 0)) for e in nights]


def world_of(subject: str) -> str:
    """``on real servers`` or ``simulated``, by a subject's key (``lock / fair, docker 3.8.0``)."""
    return "on real servers" if ", docker" in subject else "simulated"


def _failure(gathered: Gathered, night: NightRow, each: FailureResult) -> Line:
    row = each.failure
    line = _past(gathered, night, row, expected=each.state in ("expected", "base"))
    performed = gathered.performed.get(f"{row.workload} / {row.recipe}", {}).get(night.name, 0)
    detail = f"{each.runs} of {many(max(performed, each.runs), 'run')}"
    if row.first_night not in ("", night.name):
        detail += f", since {row.first_night}"
    detail += f"; {_worlds(gathered, night, row)}"
    detail += f"; {each.why}" if each.why else ""
    owner = f" [{each.owner}]" if each.owner else ""
    return Line(words=f"{row}{owner}", place=line.place, detail=detail, picture=line.picture)


def _worlds(gathered: Gathered, night: NightRow, row: FailureRow) -> str:
    """Where a night saw a failure: on simulated servers, on real ones, or on both."""
    keys = {each.subject for each in gathered.of(night.name, "run") if row.id in each.shown}
    return " and ".join(sorted({world_of(key) for key in keys})) or "not in a run on trial"


def _past(gathered: Gathered, night: NightRow, row: FailureRow, *, expected: bool = False) -> Line:
    seen = seen_by_night(gathered, row, night)[-SPARKS:]
    detail = f"first seen {row.first_night}" if row.first_night else ""
    return Line(
        words=str(row),
        place=failure_place(row.id),
        detail=detail,
        picture=sparkline(seen, str(row), expected=expected),
    )


def _cases(told: NightDocument, *states: str) -> list[Line]:
    return [
        Line(words=each.name, detail=each.why, command=each.again)
        for each in told.cases
        if each.state in states
    ]


def _failed(told: NightDocument) -> Iterator[Line]:
    for expired in told.expired:
        yield Line(words=f"expected no longer: {expired}")
    for each in told.failed_commands:
        yield Line(words=each.name, detail=f"exit code {each.exit_code}")


def _notes(told: NightDocument) -> Iterator[Line]:
    for note in told.notes:
        yield Line(words=note)
    for each in told.cases:
        if each.moved:
            yield Line(words=f"{each.name} was found anew by another run", detail=each.moved)
    yield from _canaries(told, "open", "unperformed")
    yield from _cases(told, "undecided", "unperformed")


def _canaries(told: NightDocument, *states: str) -> Iterator[Line]:
    for each in told.canaries:
        if each.state in states:
            unseen = " or ".join(each.expected) or "a broken promise"
            detail = f"{unseen} not seen in {many(each.runs, 'run')}"
            if each.state == "blind":
                detail += f"; a run is expected to show it with {each.rate:.0%}"
            yield Line(words=each.name, detail=each.why or detail)


def _open(gathered: Gathered, night: NightRow) -> Iterator[Line]:
    counted = (
        (each.subject, each.kind, outcome, runs)
        for each in gathered.of(night.name, "run")
        for outcome, runs in each.outcomes.items()
    )
    for key, counts in sorted(outcomes_of(counted).items()):
        why = "undecided" if is_undecided(counts) else ""
        why = "too little happened in all of its runs" if is_unexercised(counts) else why
        if why:
            yield Line(words=key, place=subject_place(key), detail=why)


def _left(told: NightDocument) -> Iterator[Line]:
    for key in told.waiting:
        yield Line(words=key, place=subject_place(key), detail="had no turn, is first next time")
    if told.cases_left:
        yield Line(words=f"{many(told.cases_left, 'case')} had no turn")
    if told.idle:
        yield Line(words=told.idle)


def _changes(comparison: Comparison | None, wanted: Callable[[Change], bool]) -> list[Line]:
    found = []
    for each in comparison.changes if comparison is not None else ():
        if wanted(each):
            what, of, _, a, b, by, _ = change_cells(each)
            before, now = a.partition(" (")[0], b.partition(" (")[0]
            detail = f"{before}, now {now}: {'' if each.what == RATE else 'by a factor of '}"
            place = subject_place(each.subject) if each.subject else ""
            by = by.removesuffix(" times")
            found.append(Line(words=f"{what} of {of}", place=place, detail=f"{detail}{by}"))
    return found


def _trends(gathered: Gathered, night: NightRow) -> list[Line]:
    """What stands after the newest night; for every night of a year it would take too long."""
    if night is not gathered.nights[-1]:
        return []
    return [
        Line(
            words=f"{each.what} of {each.subject}",
            place=subject_place(each.subject),
            detail=f"{each.change} since {each.first}",
        )
        for each in standing_trends(gathered.nights, gathered.tallies)
        if each.first != night.name  # what began with this night is worse than the one before
    ]


def _cost(runs: int) -> str:
    return f"cost {many(runs, 'run')}" if runs > 1 else ""
