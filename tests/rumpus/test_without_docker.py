"""The package docker is an extra: without it runs are simulated, and what needs it says so."""

import subprocess
import sys

from rumpus.exit_codes import ENVIRONMENT, exit_code, in_words

REMEDY = "the package docker is not installed: pip install 'rumpus[docker]'"
COMMANDS = [
    ("doctor", 0),
    ("clean", 4),
    ("run lock --ensemble docker", 4),
    ("run lock --clients 2 --nemesis none --time-limit 1 --seed 1", 0),
]
PROGRAM = f"""
import sys
sys.modules["docker"] = None
from rumpus.command_line import main
for words, code in {COMMANDS!r}:
    print("$", words, flush=True)
    assert main(words.split()) == code, words
"""


def test_commands_without_it(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert f"runs are simulated: {REMEDY}" in result.stdout
    assert "Valid: every promise of the recipe was kept" in result.stderr
    assert result.stderr.count(REMEDY) == 3
    assert f"ensemble: sim ({REMEDY})" in result.stderr


def test_a_module_that_is_nobodys_extra_is_a_defect():
    missing = ModuleNotFoundError("No module named 'x'", name="x")
    assert exit_code(missing) != ENVIRONMENT
    assert in_words(missing) == "No module named 'x'"
    assert exit_code(ModuleNotFoundError("docker.x", name="docker.x")) == ENVIRONMENT
