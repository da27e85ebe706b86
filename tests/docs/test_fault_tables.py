"""The tables of faults in the README and on the page about the simulation are up to date."""

from pathlib import Path

import pytest

from docs.generators.fault_tables import simulated_only, with_faults
from rumpus.nemesis.registry import FAULTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("page", "kinds"),
    [("README.md", list(FAULTS)), ("docs/explanation/simulation.md", simulated_only())],
)
def test_a_page_has_every_fault_as_its_class_describes_it(page, kinds):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert with_faults(text, kinds) == text, "python -m docs.generators.fault_tables docs"
    for kind in kinds:
        assert f"| `{kind}` | {FAULTS[kind].works_on} | {FAULTS[kind].summary} |" in text
