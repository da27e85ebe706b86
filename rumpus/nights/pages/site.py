"""The pages of a store of nights, each made when it is asked for."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import msgspec

from rumpus.nights.pages.compare_data import compare_data
from rumpus.nights.pages.failure_model import failure_models
from rumpus.nights.pages.gathering import Gathered
from rumpus.nights.pages.grid import LEGEND, SHOWN, columns, grid
from rumpus.nights.pages.model import Column, FailureModel, NightModel
from rumpus.nights.pages.night_groups import seen_by_night
from rumpus.nights.pages.night_model import night_model
from rumpus.nights.pages.places import COMPARE, FAILURES, INDEX, NIGHTS, night_place, subject_place
from rumpus.nights.pages.rendering import program, rendered
from rumpus.nights.pages.subject_model import Past, subject_model, subject_pasts
from rumpus.nights.records import NightRow
from rumpus.results.escapes import in_shell

MOST_ROWS = 400
"""How many rows the grid of the first page has at most."""


class Page(NamedTuple):
    """A file of the site.

    Attributes:
        place: its path under the site's directory.
        make: makes its text.
        made_of: a digest of all that it is made of; None: that is not known before it is made.
    """

    place: str
    make: Callable[[], str]
    made_of: Callable[[], str] | None = None


class Site:
    """All pages of a store.

    Args:
        gathered: what the store knows.
        also: places to which pages lead beside their own, and their names.
    """

    def __init__(self, gathered: Gathered, also: Sequence[tuple[str, str]] = ()) -> None:
        self._gathered = gathered
        self._render = partial(rendered, also=also)
        self._models: dict[str, NightModel] = {}

    def pages(self) -> Iterator[Page]:
        """All files, the first page first."""
        gathered = self._gathered
        yield Page(INDEX, self._index)
        for night in gathered.nights[::-1]:
            make, made_of = partial(self._night, night), partial(self._made_of, night)
            yield Page(night_place(night.name), make, made_of)
        for failure in self._failures:
            yield Page(failure.place, partial(self._failure, failure))
            if failure.case_place:
                yield Page(failure.case_place, partial(str, failure.case_json))
        for key, past in subject_pasts(gathered).items():
            yield Page(subject_place(key), partial(self._subject, key, past))
        make = partial(self._render, "nights.html.j2", NIGHTS, columns=self._columns)
        yield Page(NIGHTS, make)
        yield Page(
            FAILURES, partial(self._render, "failures.html.j2", FAILURES, failures=self._failures)
        )
        yield Page(COMPARE, self._compare)

    def _index(self) -> str:
        gathered = self._gathered
        rows = grid(gathered)
        return self._render(
            "index.html.j2",
            INDEX,
            night=self._model(gathered.nights[-1]) if gathered.nights else None,
            columns=self._columns[-SHOWN:],
            all_columns=len(self._columns),
            rows=rows[:MOST_ROWS],
            all_rows=len(rows),
            legend=LEGEND,
            failures=self._failures,
        )

    def _night(self, night: NightRow) -> str:
        model, digest = self._model(night), self._made_of(night)
        command = in_shell(["rumpus", "compare", model.before, model.name])
        return self._render(
            "night.html.j2", model.place, digest, night=model, compare_command=command
        )

    def _compare(self) -> str:
        data = msgspec.json.encode(compare_data(self._gathered)).decode()
        return self._render("compare.html.j2", COMPARE, data=data)

    def _subject(self, key: str, past: Past) -> str:
        subject = subject_model(self._gathered, key, past)
        return self._render("subject.html.j2", subject.place, subject=subject)

    def _failure(self, failure: FailureModel) -> str:
        return self._render("failure.html.j2", failure.place, failure=failure)

    def _model(self, night: NightRow) -> NightModel:
        if night.name not in self._models:
            self._models[night.name] = night_model(self._gathered, night)
        return self._models[night.name]

    def _made_of(self, night: NightRow) -> str:
        """A digest of all that a night's page is made of: to compare nights takes long."""
        gathered, before = self._gathered, self._gathered.before(night)
        names = [each.name for each in (night, before) if each is not None]
        tallies = [each for name in names for each in gathered.tallies.get(name, ())]
        shown = {failure for each in tallies for failure in each.shown}
        failures = [gathered.failures[failure] for failure in sorted(shown)]
        parts = [
            program(),
            night,
            before,
            len(tallies),
            *tallies,
            [[row.id, row.first_night, seen_by_night(gathered, row, night)] for row in failures],
            gathered.documents.get(night.name),
            gathered.faults.get(night.name, {}),
        ]
        made = hashlib.sha256()
        for part in parts:  # one by one: tallies have texts in common, of any length
            made.update(msgspec.msgpack.encode(part, order="sorted"))
        return made.hexdigest()

    @cached_property
    def _columns(self) -> list[Column]:
        return columns(self._gathered)

    @cached_property
    def _failures(self) -> list[FailureModel]:
        return failure_models(self._gathered)
