"""Every package that the project needs is chosen on purpose: docs/architecture.md says why.

For other systems docs/recipes/systems.md does.
"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
REASONS = "".join(
    (ROOT / "docs" / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for page, heading in (("architecture.md", "Dependencies"), ("recipes/systems.md", "Libraries"))
)


@pytest.mark.parametrize("name", [re.split(r"[<>=~\[ ]", each)[0] for each in NEEDED])
def test_the_page_says_why_a_package_is_needed(name):
    assert re.search(rf"\b{re.escape(name)}\b", REASONS, re.IGNORECASE)
