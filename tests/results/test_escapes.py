"""Each border by itself: what is dangerous goes in, and nothing that acts comes out."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rumpus.consoles import Lines, _Escaping
from rumpus.results.escapes import (
    LONGEST_IN_MARKDOWN,
    escaped,
    escaped_lines,
    fenced,
    in_json,
    in_markdown,
)
from tests.dangerous_strings import DANGEROUS, SURROGATE

GITHUB = MarkdownIt("gfm-like", {"linkify": False, "html": True})
EVERYTHING = [*DANGEROUS, SURROGATE]


def kinds(text):
    """The kinds of marks that Markdown finds."""
    tokens = [each for token in GITHUB.parse(text) for each in (token, *(token.children or ()))]
    return {token.type for token in tokens}


def as_told(text):
    """What a reader of Markdown sees."""
    inline = [token for token in GITHUB.parse(text) if token.type == "inline"]
    return "".join(part.content for token in inline for part in token.children)


@pytest.mark.parametrize("text", EVERYTHING)
def test_text_stays_text_wherever_it_stands_in_markdown(text):
    plain = {"paragraph_open", "inline", "text", "text_special", "paragraph_close"}
    assert kinds(in_markdown(text)) <= plain
    assert kinds(f"before {in_markdown(text)} after") <= plain
    item = {"bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"}
    assert kinds(f"- {in_markdown(text)}\n- b") <= plain | item
    table = f"| a | b |\n|---|---|\n| {in_markdown(text)} | c |\n"
    assert kinds(table) == kinds("| a | b |\n|---|---|\n| x | c |\n") | (kinds(table) & plain)
    assert len([each for each in GITHUB.parse(table) if each.type == "td_open"]) == 2


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_told_as_it_is(text):
    assert as_told(f"a {in_markdown(text)} b") == f"a {escaped(' '.join(text.split()))} b"
    assert kinds(in_markdown(text)) <= {
        "paragraph_open",
        "inline",
        "text",
        "text_special",
        "paragraph_close",
    }


def test_a_very_long_text_is_cut_in_markdown():
    assert len(in_markdown("x" * 10**6)) == LONGEST_IN_MARKDOWN + 1


@pytest.mark.parametrize("text", [*EVERYTHING, "```\n", "a ````` b\n`````"])
def test_nothing_closes_a_block_of_code(text):
    tokens = GITHUB.parse(f"{fenced(text, 'sh')}\n\nafter\n")
    assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]
    assert tokens[0].content == f"{escaped(text)}\n"


@pytest.mark.parametrize("text", EVERYTHING)
def test_on_a_terminal_there_are_only_glyphs(text):
    for force in (False, True):
        screen = io.StringIO()
        console = _Escaping(file=screen, force_terminal=force, color_system=None)
        console.print(Text(f"a {text} b"), soft_wrap=True)
        assert screen.getvalue().replace("\n", "").isprintable()
        assert escaped_lines(screen.getvalue()) == screen.getvalue()


@pytest.mark.parametrize("text", DANGEROUS)
def test_json_means_the_same_and_has_no_raw_control_characters(text):
    document = {"a": [text], text: 1}
    written = in_json(json.dumps(document, ensure_ascii=False, indent=1).encode())
    assert json.loads(written) == document
    assert written.decode().replace("\n", "").isprintable()


@pytest.mark.parametrize("text", ["a\n✔ Valid: b", "a\r\n✔ Valid: b"])
def test_no_text_looks_like_another_line_of_a_terminal(text):
    screen = io.StringIO()
    console = _Escaping(file=screen, width=40)
    table = Table(text)
    table.add_row(text, Text(text))
    for each in (text, Text(text), Padding(Text(text), 1), table):
        console.print(each, soft_wrap=True)
    assert "✔ Valid" in screen.getvalue()
    assert not any(line.lstrip().startswith("✔") for line in screen.getvalue().splitlines())


def test_text_of_several_lines_is_printed_in_lines():
    screen = io.StringIO()
    _Escaping(file=screen).print(Lines("a\nb \x1b c\n"))
    assert screen.getvalue() == "a\nb \\x1b c\n"
