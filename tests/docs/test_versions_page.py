"""docs/reference/versions.md is up to date with what is written down of the versions."""

import re
from pathlib import Path

import pytest

from docs.generators.marked_page import with_part
from docs.generators.versions_page import DEBIAN_RELEASES, cell, cells_of, differences, table
from rumpus.workloads.registry import WORKLOADS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "versions.md").read_text(encoding="utf-8")


def test_the_page_has_all_differences():
    assert with_part(PAGE, "differences", differences()) == PAGE, (
        "python -m docs.generators.versions_page docs/reference/versions.md"
    )


def test_the_page_has_all_versions_and_families():
    for version, release in DEBIAN_RELEASES.items():
        assert re.search(rf"^\| {re.escape(version)}\S* .*\| {release} \|", PAGE, re.MULTILINE)
    for family in WORKLOADS:
        assert f"\n| `{family}` |" in PAGE.partition("<!-- versions -->")[2]


RESULT = {"outcome": "valid", "reasons": [], "anomalies": []}
BROKEN = {
    "outcome": "violation",
    "reasons": ["split-brain: 2"],
    "anomalies": [
        {"kind": "split-brain", "count": 2, "promised": True},
        {"kind": "fenced", "count": 1, "promised": False},
    ],
}
LACKING = {"outcome": "unknown", "reasons": ["requests that the servers do not know"]}


@pytest.mark.parametrize(
    ("recipe", "result", "words"),
    [
        ("fair", RESULT, "valid"),
        ("kazoo", RESULT, "`kazoo`: valid"),
        ("fair", BROKEN, "`split-brain` 2"),
        ("fair", LACKING, "needs 3.5 (`UnimplementedError`)"),
        ("fair", {**RESULT, "outcome": "unknown", "reasons": ["a", "b"]}, "unknown (a; b)"),
        ("fair", None, ""),
    ],
)
def test_a_cell_says_what_a_run_found(recipe, result, words):
    assert cell(recipe, "fair", result) == words


def test_where_a_recipe_cannot_run_another_one_does():
    def obtain(_family, recipe, version):
        return LACKING if (recipe, version) == ("fair", "3.4.13") else RESULT

    (row,) = (row for row in table(obtain).splitlines() if row.startswith("| `lock` |"))
    assert row == "| `lock` | `fair` | `kazoo`: valid | valid | valid | valid |"


def test_what_was_not_performed_stays_as_it_is_and_a_new_family_has_a_row():
    before = cells_of(PAGE)
    assert before["`lock`", "`fair`", "3.4.13"] == "`kazoo`: valid"
    made = table(lambda *_: None, before)
    assert with_part(PAGE, "versions", made) == PAGE
    without = {key: text for key, text in before.items() if key[0] != "`latch`"}
    assert "\n| `latch` | `tally` |  |  |  |  |\n" in table(lambda *_: None, without)
