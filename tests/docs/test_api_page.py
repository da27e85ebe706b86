"""docs/reference/api.md is what the docstrings of the public names say, and misses none."""

from pathlib import Path

import rumpus
from docs.generators.api_page import SECTIONS, api_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def test_the_page_is_up_to_date():
    told = PAGE.read_text(encoding="utf-8")
    assert api_page() == told, "python -m docs.generators.api_page > docs/reference/api.md"


def test_every_public_name_is_described_once():
    named = [name for names in SECTIONS.values() for name in names]
    assert sorted(named) == sorted(rumpus.__all__)


def test_every_entry_says_something():
    entries = PAGE.read_text(encoding="utf-8").split("\n### ")[1:]
    assert len(entries) == len(rumpus.__all__)
    for entry in entries:
        words = entry.partition("\n")[2]
        code = words.startswith("\n```") and words.count("```") >= 2
        text = words.split("```")[2] if code else words
        assert text.split("\n## ")[0].strip(), entry
