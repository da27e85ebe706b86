"""The README: short, true, and every link of it leads somewhere."""

import re
from pathlib import Path

from docs.generators.track_record_page import with_record, with_summary
from rumpus.nemesis.registry import FAULTS
from rumpus.workloads.registry import WORKLOADS
from tests.rumpus.track_record.ours import OURS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_read_in_some_minutes():
    assert len(README.split()) <= 900


def test_its_numbers_are_those_of_the_program():
    assert f"shows {len(WORKLOADS)} workloads with their recipes, and {len(FAULTS)} kinds" in (
        README.replace("\n", " ")
    )
    assert f"{len(WORKLOADS)} families" in README


def test_the_track_record_is_up_to_date():
    remedy = "python -m docs.generators.track_record_page"
    assert with_summary(README, OURS) == README, remedy
    page = (ROOT / "docs/track-record/index.md").read_text(encoding="utf-8")
    assert with_record(page, OURS) == page, remedy


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_test_of_a_lock_is_the_one_of_the_example():
    shown = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    assert shown == (ROOT / "examples/own_lock/tests/test_lock.py").read_text()
