"""What people and servers read of a night: short, true, and harmless whatever is in it."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from rumpus.nights.documents.document import CaseResult
from rumpus.nights.documents.night_junit import night_junit
from rumpus.nights.documents.summary import (
    LONGEST_TABLE,
    duration,
    headline,
    in_text,
    many,
    summary,
)
from rumpus.nights.records import RunRow
from tests.dangerous_strings import DANGEROUS, SURROGATE
from tests.rumpus.nights.documents import document, documents, failed
from tests.rumpus.nights.test_document import SIGNS, together

GITHUB = MarkdownIt("gfm-like", {"linkify": False, "html": True})
STATES = {
    1: "BROKEN", 5: "NOT TO BE TRUSTED", 4: "IN TROUBLE", 2: "IN TROUBLE", 3: "OPEN", 0: "green",
}  # fmt: skip
WORDS = {
    "new": "1 new failure: lock / fair: double-grant",
    "known": "1 known failure still there",
    "regression": "1 case is back: regression",
    "expired": "an expectation is over: it",
    "command": "failed: x",
    "blind": "a check has gone blind: nobody sees a broken promise any more: c stayed green",
    "world": "trouble: world it",
    "stale": "1 case is stale: stale",
    "undecided": "undecided: lock / other, sim",
    "unexercised": "nothing was exercised in lock / other, sim",
    "nothing": "nothing was run",
    "interrupted": "ended early",
    "found": "1 of 1 canary found",
}


@pytest.mark.parametrize("sign", SIGNS)
def test_the_first_line_says_the_state_and_why(sign):
    line = headline(together(sign))
    assert line.startswith(f"2026-11-26 is {STATES[SIGNS[sign][0]]}")
    assert WORDS.get(sign, "") in line


def test_a_part_is_called_one():
    assert headline(document(shard="0/2")).startswith("2026-11-26 (part 0/2) is green: 1 run of")


def test_idle_nights_say_why():
    assert headline(document(runs=(), idle="nothing has changed")).endswith("nothing has changed")


@settings(max_examples=25)
@given(documents)
def test_there_are_ten_lines_at_most_and_a_table(made):
    assert len(in_text(made)) <= 10
    lines, _, table = summary(made).partition("\n\n")
    assert len(lines.split("\n")) == len(in_text(made))
    rows = table.strip().split("\n") if table.strip() else []
    assert len(rows) in (0, len(made.outcomes) + 2)


@settings(max_examples=25)
@given(documents)
def test_nothing_in_a_document_is_markdown(made):
    found = GITHUB.parse(summary(made))
    kinds = {each.type for token in found for each in (token, *(token.children or ()))}
    table = {f"{part}_{side}" for part in ("table", "thead", "tbody", "tr", "th", "td")
             for side in ("open", "close")}  # fmt: skip
    plain = {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "hardbreak"}
    assert kinds <= plain | table | {"strong_open", "strong_close"}
    assert sum(token.type == "paragraph_open" for token in found) == 1
    assert all(len(c) == 5 for c in cells(found))


def cells(tokens):
    """The cells of each row of a table."""
    rows = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("td_open", "th_open"):
            rows[-1].append(token)
    return rows


@pytest.mark.parametrize("text", [*DANGEROUS, SURROGATE])
def test_names_are_escaped_in_the_table(text):
    run = RunRow(role="run", subject=f"a{text}b", outcome="valid")
    table = summary(document(runs=[run])).partition("\n\n")[2]
    assert table.strip().replace("\n", "").isprintable()
    assert [len(each) for each in cells(GITHUB.parse(table))] == [5, 5]


def test_a_night_with_some_of_everything_has_ten_lines():
    made = together("regression", "blind", "world", "found")
    made = document(
        runs=made.runs,
        cases=made.cases,
        canaries=made.canaries,
        troubles=("world",),
        failures=(*(failed(kind=f"k{n}") for n in range(9)), failed("expected")),
        waiting=("a",),
    )
    assert len(in_text(made)) == 10


@pytest.mark.parametrize("text", DANGEROUS)
def test_lines_of_words_are_escaped(text):
    told = summary(document(notes=(text,))).partition("\n\n")[0]
    kinds = {part.type for token in GITHUB.parse(told) for part in token.children or ()}
    assert kinds <= {"text", "text_special", "hardbreak", "strong_open", "strong_close"}
    assert len(told.split("\n")) == 3


def test_a_long_table_is_cut():
    runs = [RunRow(role="run", subject=f"r{n}", outcome="valid") for n in range(LONGEST_TABLE + 7)]
    text = summary(document(runs=runs))
    assert "and 7 more" in text
    assert text.count("\n| ") == LONGEST_TABLE + 3


def test_what_is_broken_comes_first_in_the_table():
    runs = [
        RunRow(role="run", subject="a", outcome="valid"),
        RunRow(role="run", subject="b", outcome="violation", failures=("x",)),
    ]
    lines = summary(document(runs=runs)).splitlines()
    rows = [line for line in lines if line.startswith(("| a |", "| b |"))]
    assert rows == ["| b | 1 | 0 | 1 | 0 |", "| a | 1 | 1 | 0 | 0 |"]


def test_few_of_many_are_named():
    cases = tuple(CaseResult(name=f"c{n}", state="stale") for n in range(5))
    assert "5 cases are stale: c0, c1, c2, and 2 more" in headline(document(cases=cases))


def test_owners_and_cases_are_named():
    made = document(failures=(failed(owner="team", file="cases/a.case.json"),))
    text = "\n".join(in_text(made))
    assert "lock / fair [team]" in text
    assert "cases/a.case.json" in text
    assert f"rumpus failure {made.failures[0].failure.id}" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (3600, "60 min"), (5400, "90 min"),
     (6000, "1 h 40 min"), (7200, "2 h")],
)  # fmt: skip
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


def test_numbers_in_words():
    assert [many(1, "case"), many(2, "case"), many(0, "canary", "canaries")] == [
        "1 case",
        "2 cases",
        "0 canaries",
    ]


def suites(made):
    return {suite.get("name"): suite for suite in ET.fromstring(night_junit(made))}


@settings(max_examples=25)
@given(documents)
def test_the_xml_is_well_formed_and_its_counts_are_right(made):
    for suite in suites(made).values():
        for tag, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(plural)) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.get("tests")) == len(suite.findall("testcase"))


@pytest.mark.parametrize("text", [*DANGEROUS, SURROGATE])
def test_any_text_can_be_in_the_xml(text):
    cases = (CaseResult(name=text, state="regression", why=text, again=text),)
    (case,) = suites(document(cases=cases))["rumpus.night.cases"]
    assert case.find("failure").get("type") == "regression"


@pytest.mark.parametrize("sign", sorted(SIGNS.keys() - {"found"}))
def test_what_is_not_green_has_a_failure_or_an_error_and_what_is_has_none(sign):
    made = together(sign)
    runs = made.runs
    if made.failures:
        shown = tuple(each.failure.id for each in made.failures)
        runs = [RunRow(role="run", subject="x", outcome="violation", failures=shown)]
    made = document(
        runs=runs,
        troubles=[each.kind for each in made.night.troubles],
        interrupted=made.night.interrupted,
        **{name: getattr(made, name) for name in ("failures", "cases", "canaries", "commands",
           "expired")},
    )  # fmt: skip
    found = list(suites(made).values())
    failures = sum(int(suite.get("failures")) for suite in found)
    errors = sum(int(suite.get("errors")) for suite in found)
    code = SIGNS[sign][0]
    assert (failures > 0) == (code == 1)
    assert (errors > 0) == (code not in (0, 1))
