"""Runs the tests of an example as its users do: in its folder, by a pytest of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.pipelines import Machine

ROOT = Path(__file__).resolve().parents[2]


def python_in(example, module, *arguments):
    """A module run as a program in the folder of an example, as a completed process."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT / "examples" / example,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture
def run_example(tmp_path):
    def perform(example, *arguments):
        """What pytest said, and the numbers of its outcomes: ``{"passed": 1}``."""
        runs = "--rumpus-runs", tmp_path / "runs"
        plugins = "-p", "rumpus.pytest_plugin", "-p", "no:cacheprovider"
        result = python_in(example, "pytest", "-q", *plugins, *runs, *arguments)
        last = result.stdout.splitlines()[-1]
        counts = re.findall(r"(\d+) (passed|failed|skipped|errors?)", last)
        return result.stdout, {outcome: int(count) for count, outcome in counts}

    return perform


@pytest.fixture
def machine(tmp_path):
    """A project of a user's, on a machine that has stand-ins for rumpus and pip."""
    return Machine(tmp_path / "machine")
