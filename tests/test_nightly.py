"""What is run every night: the project's own file, and the script that performs it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rumpus.nights.kept_cases import kept_cases
from rumpus.nights.night_file import load_night_file
from rumpus.nights.subjects import on_trial
from rumpus.project_names import names_here
from rumpus.track_record.record_file import FILE as RECORD
from rumpus.track_record.record_file import read_record
from rumpus.workloads.registry import WORKLOADS

ROOT = Path(__file__).parents[1]
FILE = ROOT / ".ci" / "night.toml"


@pytest.fixture(scope="module")
def subjects():
    return [on.subject for on in on_trial(load_night_file(FILE).jobs, names_here(), FILE)]


def test_every_family_is_on_trial_in_both_worlds(subjects):
    for world in ("sim", "docker"):
        assert {each.workload for each in subjects if each.world == world} == {*WORKLOADS}
    assert {each.zookeeper for each in subjects} == {"", "3.4.13", "3.9.3", "3.9.6"}


def test_no_recipe_with_a_known_flaw_is_on_trial_unless_that_is_mended(subjects):
    """They have cases, which are replayed."""
    reports = {flaw.record.case: flaw.record.report for flaw in read_record(ROOT / RECORD).flaws}
    for path in ROOT.glob("cases/findings/*.case.json"):
        flawed = json.loads(path.read_text())["settings"]
        mended = bool(reports[f"findings/{path.name}"])
        for each in subjects:
            if (each.workload, each.recipe) == (flawed["workload"], flawed.get("recipe")):
                assert mended, path
                assert each.kazoo == "+docs/upstream", path
    assert not any(WORKLOADS[each.workload].catalogue[each.recipe].faulty for each in subjects)


def test_all_kept_cases_are_replayed_and_have_to_show_their_failures():
    cases, wrong = kept_cases([FILE.parent / each for each in load_night_file(FILE).cases])
    assert {kept.path.resolve() for kept in cases} == {*ROOT.glob("cases/**/*.case.json")}
    assert not wrong
    assert all(kept.to_show for kept in cases)


def test_the_script_sets_up_and_passes_options_on(tmp_path):
    place = tmp_path / "copy"
    shutil.copytree(ROOT / ".ci", place / ".ci")
    program = place / ".venv" / "bin" / "rumpus"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "rumpus $*" >> asked\nexit 3\n')
    program.chmod(0o700)
    (place / "Makefile").write_text("setup:\n\t@echo make setup >> asked\n")
    done = subprocess.run(
        [place / ".ci" / "nightly", "--budget", "5m"],
        env={**os.environ, "MAKEFLAGS": ""},
        check=False,
        timeout=60,
    )
    assert done.returncode == 3
    asked = (place / "asked").read_text().splitlines()
    assert asked == ["make setup", "rumpus nightly .ci/night.toml --budget 5m"]
