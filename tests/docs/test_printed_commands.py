"""The commands that two pages print still show what the pages say they show."""

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


def findings():
    """Number, command and anomalies of each row of docs/findings.md."""
    text = (DOCS / "findings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    anomalies = {number: set(re.findall(r"`([^`]+)`", last)) for number, last in rows}
    commands = dict(
        reversed(each) for each in re.findall(r"^\$ rumpus (.*?) +# (\d+)$", text, re.MULTILINE)
    )
    assert anomalies.keys() == commands.keys()
    return [
        pytest.param(
            command.replace("docs/findings", f"{DOCS}/findings"), anomalies[number], id=number
        )
        for number, command in commands.items()
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


@pytest.mark.parametrize(("command", "anomalies"), findings())
def test_a_finding_is_shown_again(command, anomalies):
    assert broken(command) >= anomalies


@pytest.mark.parametrize(("command", "anomalies"), published())
def test_a_recipe_as_published_breaks_what_its_section_says(command, anomalies):
    assert broken(command) & anomalies
