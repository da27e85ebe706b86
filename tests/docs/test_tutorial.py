"""The tutorial works as it is printed: its files, and its commands in their order."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "first-lock.md").read_text(encoding="utf-8")
FILES = re.findall(
    r"^`([\w/.]+)`:\n\n```(\{literalinclude\} (\S+)\n.*?\n|\w+\n)(.*?)```",
    PAGE,
    re.MULTILINE | re.DOTALL,
)
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
FULL = "RUMPUS_FULL_CHECKS" in os.environ


def text_of(included, printed):
    if not included:
        return printed
    return (ROOT / "docs" / "tutorial" / included).read_text(encoding="utf-8")


class Folder:
    """The reader's folder."""

    def __init__(self, place):
        self.place = place
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        # Not the host's: on real servers a night takes minutes.
        self.environment["DOCKER_HOST"] = "unix:///nowhere"
        if not FULL:
            self.environment["PYTEST_ADDOPTS"] = "--rumpus-seeds 1"

    def write(self, name, text):
        file = self.place / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, command):
        """Exit code and output of a command of the page."""
        program, *words = shlex.split(command)
        module = {"pytest": ["pytest", "-p", "rumpus.pytest_plugin"], "rumpus": ["rumpus.program"]}
        done = subprocess.run(
            [sys.executable, "-m", *module[program], *words],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_it_has_the_steps_that_are_tried_here():
    assert [name for name, *_ in FILES] == [
        "warehouse/lock.py",
        "tests/test_lock.py",
        "pyproject.toml",
        "warehouse/lock.py",
    ]
    assert [shlex.split(command)[:2] for command in COMMANDS[2:]] == [
        ["pytest"],
        ["rumpus", "shrink"],
        ["rumpus", "replay"],
        ["pytest"],
        ["rumpus", "nightly"],
        ["rumpus", "nightly"],
    ]


@pytest.mark.timeout(900)
def test_the_lock_fails_is_kept_mended_and_passes(folder):
    """All but the first trial is tried in ``make test-full`` only: minutes."""
    for name, _, included, printed in FILES[:3]:
        folder.write(name, text_of(included, printed))
    test, shrink, replay, again, look, night = COMMANDS[2:]
    code, said = folder.run(test)
    assert code == 1, said
    assert "split-brain: " in said
    shown = re.search(r"```text\n(.*?)\n      \.\.\.\n", PAGE, re.DOTALL)[1]
    for line in shown.splitlines():
        assert line in said
    assert re.search(r"^again:  .*$", PAGE, re.MULTILINE)[0] in said
    if not FULL:
        return
    assert folder.run(shrink)[0] == 1
    assert folder.run(replay)[0] == 1
    name, _, included, _ = FILES[3]
    [line] = re.findall(r"```python\n(AisleLock = .*)\n```", PAGE)
    folder.write(name, f"{text_of(included, '')}\n\n{line}\n")
    code, said = folder.run(again)
    assert code == 0, said
    assert "2 passed" in said
    assert folder.run(look)[0] == 0
    code, said = folder.run(night)
    assert code == 0, said
    assert "is green" in said
