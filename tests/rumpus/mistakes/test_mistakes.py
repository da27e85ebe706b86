"""What the command line says to mistakes, as a text to be read aloud: ``answers.txt``.

``RUMPUS_WRITE_ANSWERS=1 pytest tests/rumpus/mistakes`` writes the file anew. Read it afterwards.
"""

import os
import re
import shlex
import sys
import textwrap
from pathlib import Path

import pytest

from tests.rumpus.mistakes.command_lines import FILES, MISTAKES

ANSWERS = Path(__file__).with_name("answers.txt")
WIDTH = 96


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A user's directory."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("rumpus.recipes.other_systems.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def wrapped(line):
    """A line of an answer: one that is long goes on below itself."""
    line = re.sub(r"^ *\d+\.\d s", "   0.0 s", line)
    if len(line) <= WIDTH:
        return line
    return textwrap.fill(
        line, WIDTH, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )


def answers(rumpus):
    for line in MISTAKES:
        answer = rumpus(*shlex.split(line))
        assert answer.out == "", line
        said = "\n".join(map(wrapped, answer.err.splitlines()))
        yield f"$ rumpus {line}".rstrip() + f"\n{said}\n[{answer.code}]\n"


@pytest.mark.usefixtures("shop", "no_engine")
def test_mistakes_are_answered_as_written_down(rumpus):
    said = "\n".join(answers(rumpus))
    if os.environ.get("RUMPUS_WRITE_ANSWERS") == "1":
        ANSWERS.write_text(said, encoding="utf-8")
    assert ANSWERS.read_text(encoding="utf-8") == said
    assert "Traceback" not in said
    assert "\nusage:" not in said
