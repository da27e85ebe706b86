"""docs/recipes says of every family what its recipes promise, and what the promises are."""

import re
from pathlib import Path

import pytest

from docs.generators.recipe_pages import table, with_families, with_promises
from rumpus.workloads.registry import WORKLOADS

PAGES = Path(__file__).parents[2] / "docs" / "recipes"
LOCK = WORKLOADS["lock"]
OTHERS = {"index", "as-published", "curator", "systems"}
"""Pages that are not of one family."""


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_each_family_has_a_page_that_is_up_to_date(workload):
    page = (PAGES / f"{workload.name}.md").read_text(encoding="utf-8")
    assert with_promises(page, workload) == page, (
        "python -m docs.generators.recipe_pages docs/recipes"
    )
    prose = page[: page.index("<!-- promises -->")] + page[page.index("<!-- /promises -->") :]
    sound = [name for name, recipe in workload.catalogue.items() if not recipe.faulty]
    untold = [name for name in sound if name not in prose.lower()]
    assert not untold, "what is in the table only is not explained"


def test_no_page_is_of_a_family_that_is_gone():
    assert {page.stem for page in PAGES.glob("*.md")} - OTHERS == set(WORKLOADS)


def test_a_table_names_recipes_promises_anomalies_and_mutants():
    made = table(LOCK)
    for name, recipe in LOCK.catalogue.items():
        assert f"| `{name}` |" in made
        assert recipe.mistake in made
    assert "`split-brain`" in made
    assert "fencing tokens" in made


def test_the_index_counts_the_recipes_and_mutants_that_there_are():
    page = (PAGES / "index.md").read_text(encoding="utf-8")
    assert with_families(page) == page, "python -m docs.generators.recipe_pages docs/recipes"
    mutants = sum(recipe.faulty for recipe in LOCK.catalogue.values())
    assert f"| {LOCK.summary} |" in page
    assert re.search(rf"^\| \[`lock`\].* \| {mutants} \|$", page, re.MULTILINE)
