"""The grid of nights: what came of each recipe and world, night by night."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rumpus.nights.documents.document import outcomes_of
from rumpus.nights.memory.store_rows import NOT_PERFORMED
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.model import Cell, Column, GridRow
from rumpus.nights.pages.night_model import day_of, new_and_known, sentence_of, state_of
from rumpus.nights.pages.places import night_place, subject_place
from rumpus.nights.pages.standing import standing
from rumpus.nights.records import NightRow

SHOWN: Final = 30
"""How many nights the grid has: the newest."""

LEGEND: Final[Sequence[tuple[Cell, str]]] = (
    (Cell("ok", "✓"), "valid"),
    (Cell("new", "2"), "runs that broke a promise in a new way"),
    (Cell("known", "2"), "in a known way"),
    (Cell("expected", "2"), "in an expected way"),
    (Cell("open", "?"), "nothing decided"),
    (Cell("lost", "!"), "could not be run"),
)
"""What cells mean."""


def columns(gathered: Gathered) -> list[Column]:
    """All nights, oldest first."""
    return [_column(gathered, night) for night in gathered.nights]


def grid(gathered: Gathered) -> list[GridRow]:
    """The rows of the newest nights, those first that broke promises last."""
    nights = gathered.nights[-SHOWN:]
    by_night = [_cells(gathered, night) for night in nights]
    rows = []
    for key in {key for cells in by_night for key in cells}:
        cells = [each.get(key) for each in by_night]
        broken = [cell is not None and cell.style in ("new", "known") for cell in cells]
        last = max((place for place, each in enumerate(broken) if each), default=-1)
        row = GridRow(
            subject=key,
            place=subject_place(key),
            world="docker" if ", docker" in key else "sim",
            broken=any(broken),
            cells=cells,
        )
        rows.append((-last, key, row))
    return [row for _, _, row in sorted(rows, key=lambda each: each[:2])]


def _column(gathered: Gathered, night: NightRow) -> Column:
    state, tone, symbol = state_of(night)
    new, known = new_and_known(gathered, night)
    return Column(
        name=night.name,
        place=night_place(night.name),
        tone=tone,
        symbol=symbol,
        state=state,
        branch=night.branch,
        commit=night.commit,
        headline=sentence_of(night),
        runs=sum(each.runs for each in gathered.of(night.name, "run")),
        new=new,
        known=known,
        day=day_of(night.began),
    )


def _cells(gathered: Gathered, night: NightRow) -> dict[str, Cell]:
    """By subject, its cell of a night."""
    tallies = gathered.of(night.name, "run")
    states = {each.failure.id: each.state for each in standing(gathered, night)}
    shown: dict[str, set[str]] = {}
    for each in tallies:
        shown.setdefault(each.subject, set()).update(states.get(e, "known") for e in each.shown)
    counted = (
        (each.subject, each.kind, outcome, runs)
        for each in tallies
        for outcome, runs in each.outcomes.items()
    )
    return {key: _cell(counts, shown[key]) for key, counts in outcomes_of(counted).items()}


def _cell(counts: Counter[str], states: set[str]) -> Cell:
    if counts["violation"]:
        return Cell(_gravest(states), f"{counts['violation']}")
    if counts["valid"]:
        return Cell("ok", "✓")
    return Cell("lost", "!") if counts[NOT_PERFORMED] else Cell("open", "?")


def _gravest(states: set[str]) -> str:
    by_style: Mapping[str, set[str]] = {"new": {"new"}, "known": {"known"}}
    found = (style for style, of in by_style.items() if of & states)
    return next(found, "expected" if states else "known")
