"""The table of faults in docs/reference is what their classes say."""

from pathlib import Path

from docs.generators.fault_tables import with_faults
from rumpus.nemesis.registry import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "faults.md"


def test_the_page_has_every_fault_as_its_class_describes_it():
    text = PAGE.read_text(encoding="utf-8")
    assert with_faults(text) == text, "python -m docs.generators.fault_tables docs"
    for kind, fault in FAULTS.items():
        assert f"| `{kind}` | {fault.works_on} | {fault.summary} |" in text
