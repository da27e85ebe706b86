"""The colours of a report: told apart by those who see fewer of them, and read on their ground."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from coloraide import Color

from rumpus.results import reports

STYLE = (Path(reports.__path__[0]) / "colours.css").read_text(encoding="utf-8")
LIGHT, DARK = STYLE.split("prefers-color-scheme: dark", 1)

APART = 12.0
"""The least difference (CIEDE2000): 2.3 is just noticeable; small marks need several times that."""

READABLE = 4.5
"""The least contrast of text (WCAG 2.2, level AA)."""

TOGETHER = [
    ("connected", "suspended", "lost", "other"),
    ("ok", "fail", "info"),
    ("valid", "violation", "open"),
    ("belief", "grant", "leader"),
]
"""Colours that stand beside each other and mean different things."""


def colours(theme):
    return {
        **named(LIGHT),
        **(named(DARK) if theme == "dark" else {}),
    }


def named(style):
    return {name: Color(value) for name, value in re.findall(r"--([a-z]+): (#[0-9a-f]{6})", style)}


@pytest.mark.parametrize("sight", ["usual", "protan", "deutan", "tritan"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_that_mean_different_things_are_told_apart(theme, sight):
    known = colours(theme)
    seen = {
        name: colour if sight == "usual" else colour.filter(sight) for name, colour in known.items()
    }
    alike = {
        (one, other): round(difference, 1)
        for group in TOGETHER
        for one, other in combinations(group, 2)
        if (difference := seen[one].delta_e(seen[other], method="2000")) < APART
    }
    assert alike == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_read_on_its_ground(theme):
    known = colours(theme)
    faint = {
        (text, ground): round(contrast, 1)
        for text in ("ink", "soft", "valid", "violation", "open")
        for ground in ("paper", "card")
        if (contrast := known[text].contrast(known[ground])) < READABLE
    }
    assert faint == {}
