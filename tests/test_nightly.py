"""What is run every night: the script with a program that only says what it was asked to do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rumpus.workloads.registry import WORKLOADS

ROOT = Path(__file__).parents[1]

RUMPUS = """#!/bin/sh
echo "rumpus $*" >> asked
case "$*" in
    *"{fails}"*) exit {code} ;;
    replay*) echo '{cases}'; exit 1 ;;
esac
"""


def scripted(*words, given=None):
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, input=given, capture_output=True, text=True, check=False
    )


@pytest.fixture
def night(tmp_path):
    """Runs the script in a copy; its end, and what the program was asked to do."""
    place = tmp_path / "copy"
    shutil.copytree(ROOT / ".ci", place / ".ci")
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / "Makefile").write_text("setup:\ntest-full:\n\t@echo make test-full >> asked\n")
    (place / ".venv" / "bin" / "python").symlink_to(sys.executable)
    recipes = place / ".ci" / "sound_recipes.py"
    recipes.write_text("print('lock fair')\nprint('queue fifo')\n")

    def run(*options, fails="nothing", code=0, reproduced=True):
        row = {"case": "it", "reproduced": reproduced, "verdict": "seen", "expected": "deadlock"}
        program = place / ".venv" / "bin" / "rumpus"
        cases = json.dumps({"cases": [row]})
        program.write_text(RUMPUS.format(fails=fails, code=code, cases=cases))
        program.chmod(0o700)
        words = [place / ".ci" / "nightly", *options]
        environment = {**os.environ, "MAKEFLAGS": ""}
        done = subprocess.run(
            words, capture_output=True, text=True, env=environment, check=False, timeout=60
        )
        return done, (place / "asked").read_text().splitlines()

    return run


def test_every_sound_recipe_is_run_with_the_options_then_cases_and_mutants(night):
    done, asked = night("--nodes", "5")
    assert asked == [
        "rumpus run lock --recipe fair --nodes 5",
        "rumpus run queue --recipe fifo --nodes 5",
        "rumpus replay cases --json",
        "rumpus mutants",
        "rumpus mutants --servers",
        "make test-full",
    ]
    assert done.returncode == 0, done.stderr
    assert "1 of 1 cases show their failure" in done.stdout
    assert "6 parts done, 0 failed" in done.stdout


def test_the_exit_code_is_the_worst_and_the_rest_is_done_all_the_same(night):
    done, asked = night(fails="run queue", code=3, reproduced=False)
    assert (done.returncode, len(asked)) == (3, 6)
    assert "it: seen (expected: deadlock)" in done.stdout
    assert "failed: queue / fifo (exit code 3)\nfailed: cases (exit code 1)\n" in done.stdout


def test_all_families_have_a_sound_recipe_without_a_known_flaw():
    done = scripted(".ci/sound_recipes.py")
    assert done.returncode == 0, done.stderr
    found = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert {family for family, _ in found} == set(WORKLOADS)
    assert not any(WORKLOADS[family].catalogue[recipe].faulty for family, recipe in found)
    assert ("lock", "fair") in found
    assert not found & {("lock", "kazoo-bare"), ("queue", "kazoo"), ("election", "kazoo-bare")}


@pytest.mark.parametrize("given", ['{"cases": []}', '{"reasons": ["no such directory"]}'])
def test_no_cases_are_no_success(given):
    assert scripted(".ci/cases_reproduced.py", given=given).returncode == 1
