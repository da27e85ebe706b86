"""Readers that go away, and disks that are full, at the other end of standard streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from rumpus.consoles import answers, shown

TALK = """
import sys
from rumpus.consoles import {which}
console = {which}()
for number in range(300):
    console.print("x" * 70, highlight=False)
sys.exit(7)
"""


def talk(which, stream, file):
    """The exit code of a program that talks to a file, and what it says of it elsewhere."""
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    done = subprocess.run(
        [sys.executable, "-c", TALK.format(which=which)],
        check=False,
        text=True,
        **{stream: file, other: subprocess.PIPE},
    )
    return done.returncode, getattr(done, other)


@pytest.fixture
def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize(("which", "stream"), [("notices", "stderr"), ("answers", "stdout")])
def test_a_reader_that_has_gone_ends_nothing(which, stream, closed_pipe):
    assert talk(which, stream, closed_pipe) == (7, "")


def test_notices_that_cannot_be_written_end_nothing():
    with Path("/dev/full").open("w") as full:
        assert talk("notices", "stderr", full) == (7, "")


def test_an_answer_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w") as full:
        code, said = talk("answers", "stdout", full)
    assert code == 1
    assert "standard output: cannot be written (No space left on device)" in said


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("words", [["list"], ["list", "--json"]])
def test_a_full_disk_for_the_answer_is_the_environments_fault(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rumpus.program", *words],
            check=False,
            text=True,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 4
    assert done.stderr == (
        "rumpus: standard output: cannot be written (No space left on device); "
        "free some space, or send it elsewhere\n"
    )


def test_a_path_below_here_is_shown_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "runs" / "lock") == Path("runs/lock")
    assert shown(Path("runs/lock")) == Path("runs/lock")
    assert shown(Path("/elsewhere/lock")) == Path("/elsewhere/lock")


def test_names_with_colons_are_printed_as_they_are(capsys):
    words = "mypackage.locks:lock: and :factory:"
    answers().print(words)
    answers().print(Text(words))
    assert capsys.readouterr().out.splitlines() == [words, words]
