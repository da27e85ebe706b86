"""docs/recipes/as-published.md has a section for each recipe that is printed somewhere."""

import re
from pathlib import Path

import pytest

from rumpus.recipes.published.documents import DOCUMENTS, document_of
from rumpus.workloads.registry import WORKLOADS

DOCS = Path(__file__).parents[2] / "docs" / "recipes"
PAGE = (DOCS / "as-published.md").read_text(encoding="utf-8")
MOST_STEPS = 5

PRINTED = {
    (workload.name, name): recipe
    for workload in WORKLOADS.values()
    for name, recipe in workload.catalogue.items()
    if recipe.printed
}
SECTIONS = {
    (family, name): text.partition("\n## ")[0]
    for family, name, text in re.findall(
        r"^### `(\S+)` / `(\S+)`\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
}


def test_there_is_a_section_for_each_and_no_other():
    assert SECTIONS.keys() == PRINTED.keys()


@pytest.mark.parametrize("which", PRINTED, ids="-".join)
def test_a_section_says_what_the_recipe_says(which):
    family, name = which
    section, recipe = SECTIONS[which], PRINTED[which]
    assert recipe.faulty
    assert f"**Printed ({recipe.printed}):**" in section
    breaks = re.search(r"^\*\*Breaks:\*\* (.*)$", section, re.MULTILINE)
    assert set(re.findall(r"`([^`]+)`", breaks[1])) == recipe.expected
    steps = re.findall(r"^(\d)\. \S", section, re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert 3 <= len(steps) <= MOST_STEPS
    commands = re.findall(r"^\$ rumpus (.*)$", section, re.MULTILINE)
    words = rf"run {family} --recipe {name} --ensemble sim --seed \d+"
    assert len(commands) == 1
    assert re.fullmatch(words, commands[0])
    instead = re.search(r"^\*\*Instead:\*\* (.*)", section, re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"`([^`]+)`", instead[1]))
    sound = {each for each, recipe in WORKLOADS[family].catalogue.items() if not recipe.faulty}
    assert names & sound


@pytest.mark.parametrize("letter", DOCUMENTS)
def test_each_document_is_named_by_its_title_and_cited(letter):
    assert f"| {letter} | *{DOCUMENTS[letter]}*" in PAGE
    assert any(document_of(recipe.printed) == letter for recipe in PRINTED.values())


def test_a_passage_in_no_document_is_refused():
    with pytest.raises(ValueError, match="none of the documents"):
        document_of("Z 1.1")


@pytest.mark.parametrize("family", sorted({family for family, _ in PRINTED}))
def test_the_page_of_the_family_links_to_it(family):
    assert "(as-published.md)" in (DOCS / f"{family}.md").read_text(encoding="utf-8")


def test_sound_recipes_that_it_names_exist():
    after = PAGE.partition("## What holds as printed")[2]
    for name, family in re.findall(r"`(\S+)`\s+of\s+`(\S+)`", after):
        assert not WORKLOADS[family].catalogue[name].faulty, (family, name)
