"""Pages that messages, docstrings and scripts name are there, and so is what pages link to."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("checker", "docs", "examples", "harness", "nemesis", "recipes", "results", "rumpus")
FOLDERS += ("simulation", "workloads", ".ci")
NAMED = re.compile(r"\bdocs/[\w/-]+\.(?:md|json|png)\b")
LINK = re.compile(r"\]\((?![a-z]+:|#|anomaly-)([^)#\s]+)")


def texts():
    """All files that may name a page, without those of Git, of caches and of runs."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".j2", ".toml", ".md", ".yml") and "runs" not in path.parts:
                yield path
    yield from (ROOT / name for name in ("Makefile", "README.md", "CONTRIBUTING.md"))


def test_every_page_that_is_named_is_there():
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts()
        for name in NAMED.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert missing == set()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_outside_of_the_site_lead_to_files(page):
    """Sphinx checks those on the site."""
    links = LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
