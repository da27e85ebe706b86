"""TOML that is made to exhaust its reader, and what is like it and harmless."""

import tracemalloc
from pathlib import Path

import pytest

from rumpus.campaigns.rulings import load_rulings
from rumpus.nights.expected import load_expected
from rumpus.nights.night_file import load_night_file
from rumpus.project_settings import find_settings
from rumpus.track_record.record_file import read_record
from rumpus.untrusted_toml import DEEPEST, MOST_PARTS, read_toml
from rumpus.usage_error import UsageError

HOSTILE = {
    "nested": ("x = " + "[" * 20_000 + "]" * 20_000, "line 1: nested more than 64 deep"),
    "tables": ("x = " + "{a=" * 20_000 + "1" + "}" * 20_000, "nested more than 64 deep"),
    "behind a string": ('a = """b""""\nx = [\n' + "[" * 999, "line 3: nested"),
    "behind a literal": ("a = '\\'\nx = " + "[" * 999, "line 2: nested"),
    "behind a comment": ('# "\nx = ' + "[" * 999, "line 2: nested"),
    "digits": ("x = " + "1" * 5_000, "line 1: a number or a key of more than 1,000 char"),
    "dotted": (".".join("a" * 5_000) + " = 1", "line 1: a key of more than 32 parts"),
    "quoted": (" . ".join(["'a'"] * 5_000) + " = 1", "a key of more than 32 parts"),
    "header": ("[" + ".".join("a" * 5_000) + "]", "a key of more than 32 parts"),
    "many keys": ("\n".join(f"k{n}" + ".a" * 31 + "=1" for n in range(2_000)), "more than 50,000"),
    "date": ("x = 2000-99-99", "not TOML"),
    "bytes": (b"\xff", "not TOML"),
}


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_cheaply(tmp_path, name):
    content, why = HOSTILE[name]
    path = written(tmp_path / "x.toml", content)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=why) as refusal:
            read_toml(path, "read it")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert str(refusal.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "content",
    [
        "x = " + "[" * DEEPEST + "]" * DEEPEST,
        ".".join("a" * MOST_PARTS) + " = 1",
        "x = [" + "[1], " * 500 + "]",
        "x = [" + "1.5, " * 500 + "]",
        "x = '" + "[" * 500 + "'",
        "x = '''\n" + "[.\n" * 500 + "''''",
        'x = """\n' + '\\"""[.' * 500 + '"""""',
        'x = "' + '\\"[.' * 500 + '"',
        "x = 1 # " + "[." * 500,
        "x = '" + "1" * 5_000 + "'",
    ],
)
def test_what_looks_like_that_and_is_harmless_is_read(tmp_path, content):
    assert read_toml(written(tmp_path / "x.toml", content), "read it")


@pytest.mark.parametrize(
    "read",
    [
        load_rulings,
        load_expected,
        load_night_file,
        read_record,
        lambda path: find_settings(path.parent),
    ],
)
def test_every_reader_of_toml_is_that_one(tmp_path, read):
    path = written(tmp_path / "pyproject.toml", "x = " + "[" * 20_000)
    with pytest.raises(UsageError, match="nested more than 64 deep"):
        read(path)


def test_nothing_else_parses_toml():
    for folder in ("rumpus", "results", "checker", "harness", "workloads", "nemesis"):
        for file in (Path(__file__).parents[2] / folder).rglob("*.py"):
            if file.name != "untrusted_toml.py":
                words = file.read_text()
                assert "tomllib" not in words, file
                assert "msgspec.toml" not in words, file
