"""The page on ``wire.jsonl`` names the real fields, and its examples are records."""

import re
from pathlib import Path

import msgspec
import pytest

from rumpus.checker.wire.records import Event, Handshake, Request, WireRecords

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "wire-format.md").read_text()


@pytest.mark.parametrize("struct", [Handshake, Event, Request])
def test_every_field_has_its_place_in_the_table(struct):
    section = PAGE.split(f"### {struct.__struct_config__.tag}\n")[1].split("\n###")[0]
    named = [
        name
        for row in section.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(named) == sorted(struct.__struct_fields__)


def test_examples_are_records_as_they_are_written():
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    lines = block.splitlines()
    records = list(WireRecords(block.encode()))
    assert {type(each) for each in records} == {Handshake, Event, Request}
    assert [msgspec.json.encode(each).decode() for each in records] == lines
