"""What the pages of nights say, before it is HTML: words, links, and pictures."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from markupsafe import Markup


class Fact(msgspec.Struct, frozen=True):
    """A number of the first screen.

    Attributes:
        name: what it counts.
        value: in words.
        note: what else has to be known.
        bad: whether it is not as it should be.
    """

    name: str
    value: str
    note: str = ""
    bad: bool = False


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Something that has to be known, in a line.

    Attributes:
        words: what it is.
        place: the page that tells more; empty if there is none.
        detail: how often, since when.
        command: what repeats it.
        picture: how it went over the nights.
    """

    words: str
    place: str = ""
    detail: str = ""
    command: str = ""
    picture: Markup | None = None


class Kind(NamedTuple):
    """What lines of a group have in common.

    Attributes:
        tag: its name.
        tone: ``violation``, ``open``, ``valid`` or ``plain``.
        title: for people.
        meaning: what that means, in a sentence.
    """

    tag: str
    tone: str
    title: str
    meaning: str


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of one kind; none, if all is well."""

    kind: Kind
    lines: Sequence[Line]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What came of what was on trial, in a night.

    Attributes:
        subject: what was on trial.
        place: its page.
        counts: runs, valid ones, violations, others.
        broken: whether a promise was broken.
    """

    subject: str
    place: str
    counts: tuple[int, int, int, int]
    broken: bool


class NightModel(msgspec.Struct, frozen=True, kw_only=True):
    """A night's page.

    Attributes:
        name: the night's.
        place: its page.
        state: in a word; ``tone`` and ``symbol`` say the same.
        sentence: what is gravest.
        about: when, where, with what.
        facts: whether it was really tested.
        faults: kinds of fault that were verified in force, each with the number of runs.
        groups: what has to be known, gravest first.
        rows: what was on trial, broken ones first.
        before: the night that it is compared with; empty if there is none.
        compared: what the comparison says, a row for each change.
        comparison: its headline.
    """

    name: str
    place: str
    state: str
    tone: str
    symbol: str
    sentence: str
    about: Sequence[str]
    facts: Sequence[Fact]
    faults: Sequence[tuple[str, int]]
    groups: Sequence[Group]
    rows: Sequence[Row]
    before: str = ""
    before_place: str = ""
    compared: Sequence[tuple[str, ...]] = ()
    comparison: str = ""


class Cell(msgspec.Struct, frozen=True):
    """What came of a subject in a night: a style, and few letters."""

    style: str
    words: str


class GridRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the grid: a subject, and a cell for each night; None: it had no run."""

    subject: str
    place: str
    world: str
    broken: bool
    cells: Sequence[Cell | None]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A night as a column of the grid, or a row of the list of nights."""

    name: str
    place: str
    tone: str
    symbol: str
    state: str
    branch: str
    commit: str
    headline: str
    runs: int
    new: int
    known: int
    day: str


class FailureModel(msgspec.Struct, frozen=True, kw_only=True):
    """A failure's page, and its row in lists.

    Attributes:
        id: its identifier.
        place: its page; ``case_place`` that of its case, empty if none was kept.
        thing: workload and recipe.
        what: what went wrong.
        state: what it is in the newest night: ``new``, ``still there``, ``not seen``.
        facts: first and last seen, how often.
        spark: a small picture of the nights.
        chart: a large one.
        nights: each night that saw it, newest first: name, page, words.
        story: what led to it.
        repeat: commands that repeat it.
        keep: commands that keep it as a pytest.
        send: the command that makes a bundle of it.
        test: the same as a module of Python.
        versions: that showed it.
        subjects: pages of what was on trial.
    """

    id: str
    place: str
    case_place: str
    case_json: str
    thing: str
    what: str
    state: str
    tone: str
    facts: Sequence[Fact]
    spark: Markup
    chart: Markup
    nights: Sequence[tuple[str, str, str]]
    story: Sequence[str]
    repeat: Sequence[str]
    keep: Sequence[str]
    send: str
    test: str
    versions: str
    subjects: Sequence[tuple[str, str]]
    last_place: str
    owner: str = ""


class SubjectModel(msgspec.Struct, frozen=True, kw_only=True):
    """The page of what is on trial: how its rate and its figures went over the nights."""

    key: str
    place: str
    rate: Markup | None
    figures: Sequence[tuple[str, str, Markup]]
    failures: Sequence[Line]
    nights: Sequence[tuple[str, str, tuple[int, int, int, int]]]
