"""The maps of folders name all that there are."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("rumpus", "results", "workloads", "nemesis", "harness", "simulation", "checker")
"""Floors whose folders the architecture names one by one; recipes have one for each family."""


def folders(floor):
    return {
        each.name
        for each in (ROOT / floor).iterdir()
        if each.is_dir() and not each.is_symlink() and (each / "__init__.py").exists()
    }


@pytest.mark.parametrize("floor", FLOORS)
def test_the_architecture_names_every_folder_of_a_floor(floor):
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    part = text.partition("\n## Folders\n")[2].partition("\n## ")[0]
    (row,) = re.findall(rf"^\| `{floor}/` \|(.*)\|$", part, re.MULTILINE)
    assert folders(floor) <= set(re.findall(r"`([a-z_]+)`", row))


def test_whoever_contributes_is_shown_every_folder_at_the_top():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text.partition("\n## Where things are\n")[2].partition("\n## ")[0]
    named = {each.partition("/")[0] for each in re.findall(r"`([a-z_/]+)`", part)}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    there = {each.partition("/")[0] for each in listed if "/" in each}
    assert {name for name in there if not name.startswith(".")} <= named
