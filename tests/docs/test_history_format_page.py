"""The examples on the page of formats are records, and its tables name the real fields."""

import re
from pathlib import Path

import msgspec
import pytest

from rumpus.checker.availability import Availability
from rumpus.checker.history import Op
from rumpus.checker.measures import Handovers, Measures, Messages, Spread, Wakeups
from rumpus.checker.timeline.host import Host
from rumpus.results.history_file import encode_record
from rumpus.results.record import FORMAT_VERSION, RunRecord
from rumpus.results.results_document import ResultsDocument

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "history-format.md").read_text()


def test_examples_are_records_as_they_are_written():
    examples = [
        line
        for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(examples) >= 8
    for line in examples:
        assert encode_record(msgspec.json.decode(line, type=Op)).decode() == line


@pytest.mark.parametrize(
    ("heading", "struct"), [("test.json", RunRecord), ("results.json", ResultsDocument)]
)
def test_every_field_has_its_place_in_the_tables(heading, struct):
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    named = {
        name
        for row in section.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert named == set(struct.__struct_fields__)


@pytest.mark.parametrize(
    ("measure", "struct"),
    [
        ("spread", Spread),
        ("handovers", Handovers),
        ("wakeups", Wakeups),
        ("messages", Messages),
        ("availability", Availability),
        ("host", Host),
    ],
)
def test_every_measure_has_its_place_in_the_table(measure, struct):
    rows = [
        [re.findall(r"`(\w+)`", cell) for cell in row.split("|")[1:3]]
        for row in PAGE.split("## Measures\n")[1].splitlines()
        if row.startswith(("| `", "| |"))
    ]
    named, current = {}, ""
    for heading, fields in rows:
        current = heading[0] if heading else current
        named.setdefault(current, set()).update(fields)
    assert named[measure] == set(struct.__struct_fields__)
    assert named.keys() == set(Measures.__struct_fields__)


def test_names_the_version():
    assert f"Format version **{FORMAT_VERSION}**" in PAGE
