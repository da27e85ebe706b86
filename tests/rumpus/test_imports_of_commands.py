"""What commands import: people wait for each of them, and shells complete words by some."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

COMMAND = """
import json, os, sys
from rumpus.command_line import main

try:
    code = main(sys.argv[1:])
except SystemExit as ended:
    code = ended.code
os.write(2, json.dumps([code, sorted(sys.modules)]).encode())
"""

SLOW = {"docker", "jinja2", "kazoo", "numpy", "requests", "rumpus.nemesis.registry"}
"""Modules that take long to import, or import many others."""

DECIDING = {"rumpus.runs.run_settings", "rumpus.runs.performing", "rumpus.results.reports.report"}

RECORDS = [
    {"process": 0, "type": type_, "f": f, "value": value, "time": time}
    for time, (type_, f, value) in enumerate(
        [("invoke", "write", 1), ("ok", "write", 1), ("invoke", "read", None), ("ok", "read", 1)]
    )
]


def imported_by(directory, *words):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        capture_output=True,
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return set(modules)


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("words", [["list"], ["completion", "--names", "recipes"]], ids=" ".join)
def test_names_are_listed_without_importing_what_they_name(tmp_path, words):
    modules = imported_by(tmp_path, *words)
    assert not modules & SLOW
    assert not [name for name in modules if name.startswith("rumpus.simulation")]


def test_help_needs_no_module_of_a_run(tmp_path):
    modules = imported_by(tmp_path, "--help")
    assert not modules & {*SLOW, "msgspec", "rumpus.version"}


def test_a_model_decides_a_history_without_anything_of_runs(tmp_path):
    history = tmp_path / "history.jsonl"
    history.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    modules = imported_by(tmp_path, "check", str(history), "--model", "register")
    assert "rumpus.checker.deciders.registers.unique_write_register" in modules
    assert not modules & ({*SLOW, *DECIDING} - {"numpy"})
    assert not [name for name in modules if name.startswith("rumpus.simulation")]
