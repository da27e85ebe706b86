"""The commands of docs/recipes/as-published.md still show what the page says they show."""

import os
import re
from pathlib import Path

import pytest

from docs.generators.claims_page import perform

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = [
    pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="minutes: make test-full"),
    pytest.mark.timeout(600),
]


def published():
    """Command and anomalies of each section of docs/recipes/as-published.md."""
    text = (DOCS / "recipes" / "as-published.md").read_text(encoding="utf-8")
    found = re.findall(r"^\*\*Breaks:\*\* (.*)$|^\$ rumpus (.*)$", text, re.MULTILINE)
    breaks = [set(re.findall(r"`([^`]+)`", words)) for words, _ in found if words]
    commands = [command for _, command in found if command]
    return list(zip(commands, breaks, strict=True))


def broken(command):
    """The kinds of anomaly that broke a promise in a run."""
    return {row["kind"] for row in perform(command)["anomalies"] if row["promised"]}


@pytest.mark.parametrize(("command", "anomalies"), published())
def test_a_recipe_as_published_breaks_what_its_section_says(command, anomalies):
    assert broken(command) & anomalies
