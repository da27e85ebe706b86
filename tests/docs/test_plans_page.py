"""The page of fault plans: its example is a plan, and its tables miss no target and no usage."""

import re
from pathlib import Path

from rumpus.harness.generators.usage import Usage
from rumpus.nemesis.entry import Entry
from rumpus.nemesis.plan import decode_plan
from rumpus.nemesis.targets import CLIENT_ROLES, SERVER_ROLES, SHAPES, Targets

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "plans-and-usage.md").read_text(encoding="utf-8")


def test_the_example_is_a_plan():
    [example] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    plan = decode_plan(example.encode(), nodes=3, clients=5)
    assert plan.kinds == ("kill", "partition", "client-partition")


def test_fields_targets_and_usage_are_all_there():
    first_cells = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert first_cells == {*Entry.__struct_fields__, *Usage.__struct_fields__}
    for name in Targets.__struct_fields__:
        assert f'"{name}"' in PAGE or f"`{name}`" in PAGE
    for word in (*SERVER_ROLES, *CLIENT_ROLES, *SHAPES):
        assert f"`{word}`" in PAGE
