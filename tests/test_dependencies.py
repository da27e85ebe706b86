"""Every package that the project needs is chosen on purpose: docs/architecture.md says why."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


@pytest.mark.parametrize("name", [re.split(r"[<>=~\[ ]", each)[0] for each in NEEDED])
def test_the_page_says_why_a_package_is_needed(name):
    section = PAGE.partition("\n## Dependencies\n")[2].partition("\n## ")[0]
    assert re.search(rf"\b{re.escape(name)}\b", section, re.IGNORECASE)
