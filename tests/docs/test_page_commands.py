"""Every command of rumpus that a page prints can be typed, and all data on it can be read."""

import json
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import pytest

from rumpus.command_line import make_parser

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^( *)```console\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ *\$ (?:\.venv/bin/)?rumpus (.*)$", re.MULTILINE)
DATA = re.compile(r"^ *```(toml|json)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)

SOMETHING = {"ID": "3f2a91c0de", "HOST:PORT": "127.0.0.1:2181", "RUN": "runs/latest"}


def commands(page):
    """The arguments of its commands, without what a shell does with them."""
    for _, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in COMMAND.findall(block):
            words = shlex.split(line, comments=True)
            ends = [words.index(word) for word in words if word in (">", "|", "||", "&&")]
            yield [SOMETHING.get(word, word) for word in words[: min(ends, default=None)]]


ALL = sorted(DOCS.rglob("*.md"))
PAGES = [page for page in ALL if any(commands(page))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_commands_of_a_page_are_commands(page, monkeypatch, capsys):
    monkeypatch.chdir(DOCS.parent)
    for words in commands(page):
        try:
            make_parser(words).parse_args(words)
        except SystemExit:
            said = capsys.readouterr()
            if "usage: " not in said.out:  # where that is, help was asked for
                pytest.fail(f"rumpus {shlex.join(words)}: {said.err}")


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.stem)
def test_the_data_of_a_page_can_be_read(page):
    for language, code in DATA.findall(page.read_text(encoding="utf-8")):
        if language == "toml":
            tomllib.loads(textwrap.dedent(code))
        else:
            decoder = json.JSONDecoder()
            rest = code.strip()  # a document, or one in each line
            while rest:
                rest = rest[decoder.raw_decode(rest)[1] :].strip()


def test_most_pages_have_commands():
    assert len(PAGES) > 20
