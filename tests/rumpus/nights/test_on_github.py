"""What GitHub shows of a night: nothing in a text of somebody's is a command to the runner."""

import json
import os
import re
import subprocess
import sys

import pytest

from rumpus.nights.documents.on_github import Night, annotations, badge, file_of, main
from tests.dangerous_strings import DANGEROUS

FAILURE = {
    "id": "0123456789",
    "what": "lock / warehouse.lock:Lock",
    "fingerprint": "double-grant of acquire after kill",
    "state": "new",
    "owner": "team",
    "case": "cases/a.case.json",
    "story": ["n1 is killed", "two clients hold the lock"],
}
NIGHT = {
    "version": 1,
    "name": "2026-11-26.2",
    "outcome": "violation",
    "exit_code": 1,
    "headline": "1 new failure",
    "counts": {"runs": 3},
    "failures": [FAILURE],
    "troubles": [],
}


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """What is printed for a night, whose fields may be others than the usual ones; the code."""
    monkeypatch.chdir(tmp_path)

    def tell(*words, **fields):
        (tmp_path / "night.json").write_text(json.dumps({**NIGHT, **fields}))
        code = main(["night.json", *map(str, words)])
        return capsys.readouterr().out, code

    return tell


def read(line):
    """A workflow command as the runner reads it: its name, its properties and its message."""
    name, properties, message = re.fullmatch("::([a-z]+) (.*?)::(.*)", line).groups()

    def unescaped(text, *codes):
        for code in (*codes, "%0D", "%0A", "%25"):
            text = text.replace(code, chr(int(code[1:], 16)))
        return text

    pairs = (each.split("=", 1) for each in properties.split(","))
    given = {key: unescaped(value, "%3A", "%2C") for key, value in pairs}
    return name, given, unescaped(message)


def test_a_new_failure_is_an_error(told, tmp_path):
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "lock.py").touch()
    out, code = told()
    assert code == 0
    assert out == (
        "::error file=warehouse/lock.py,title=rumpus%3A new failure 0123456789::"
        "lock / warehouse.lock:Lock%0Adouble-grant of acquire after kill%0An1 is killed%0A"
        "two clients hold the lock%0AOwner: team%0ACase, in the artifact: cases/a.case.json\n"
    )


def test_known_and_expected_failures_are_not_told_again(told):
    known = [{**FAILURE, "state": state} for state in ("known", "expected")]
    assert told(failures=known, exit_code=0) == ("", 0)


def test_a_good_night_says_nothing(told):
    assert told(failures=[], exit_code=0) == ("", 0)


@pytest.mark.parametrize("code", [1, 3, 4, 5])
def test_a_night_that_is_red_without_a_new_failure_has_its_headline(told, code):
    out, _ = told(failures=[], exit_code=code, headline="50% slower\n::warning::no")
    assert out == "::error title=rumpus::50%25 slower%0A::warning::no\n"


def test_what_kept_the_night_from_looking_is_a_warning(told):
    out, _ = told(failures=[], exit_code=0, troubles=[{"kind": "world", "what": "no\nengine"}])
    assert out == "::warning title=rumpus%3A world::no%0Aengine\n"


@pytest.mark.parametrize(
    "text", [*DANGEROUS, "a\n::error::b", "a\r\n::set-env name=a::b", "100%0A::stop::", "%25", "::"]
)
def test_a_text_stays_in_its_message(told, text):
    fields = dict.fromkeys(("id", "what", "fingerprint", "owner", "case"), text)
    failure = {**FAILURE, **fields, "story": [text]}
    out, code = told(failures=[failure], troubles=[{"kind": text, "what": text}])
    assert code == 0
    lines = out.split("\n")
    assert lines.pop() == ""
    assert out.count("\r") == 0
    assert [line.splitlines() for line in lines] == [[line] for line in lines]
    (error, first, message), (warning, second, _) = map(read, lines)
    assert (error, warning) == ("error", "warning")
    assert (set(first), set(second)) == ({"title"}, {"title"})
    if text.replace("\n", "").isprintable():
        assert first["title"] == f"rumpus: new failure {text}"
        assert f"\nOwner: {text}\n" in message


@pytest.mark.parametrize(
    ("what", "files", "file"),
    [
        ("lock / a.b:C", ["a/b.py"], "a/b.py"),
        ("lock / a.b:C: double-grant", ["src/a/b.py", "pyproject.toml"], "src/a/b.py"),
        ("a.b:C, sim", ["a/b/__init__.py"], "a/b/__init__.py"),
        ("lock / mine, sim", ["mine/lock.py"], "mine/lock.py"),
        ("lock / kazoo", ["pyproject.toml"], "pyproject.toml"),
        ("lock / a.b:C", ["pyproject.toml"], "pyproject.toml"),
        ("lock / kazoo", [], None),
        (f"lock / {'a.' * 3000}b:C", ["pyproject.toml"], "pyproject.toml"),
    ],
)
def test_the_file_of_a_failure(tmp_path, what, files, file):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert file_of(what, tmp_path, {"mine": "mine.lock:Lock"}) == file


def test_names_are_those_of_the_project(told, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.rumpus.recipes.mine]\nworkload = "lock"\nrecipe = "locks:Mine"\n'
    )
    (tmp_path / "locks.py").touch()
    out, _ = told(failures=[{**FAILURE, "what": "lock / mine"}])
    assert out.startswith("::error file=locks.py,")


@pytest.mark.parametrize(
    ("code", "message", "color"),
    [
        (0, "verified 2026-11-26", "brightgreen"),
        (1, "broken 2026-11-26", "red"),
        (3, "undecided 2026-11-26", "yellow"),
        (4, "not verified 2026-11-26", "lightgrey"),
        (5, "not verified 2026-11-26", "lightgrey"),
    ],
)
def test_the_badge(told, tmp_path, code, message, color):
    _, done = told("--badge", tmp_path / "badge.json", exit_code=code)
    assert done == 0
    assert json.loads((tmp_path / "badge.json").read_text()) == {
        "schemaVersion": 1,
        "label": "rumpus",
        "message": message,
        "color": color,
    }


def test_there_are_always_words_and_a_command():
    night = Night(name="", exit_code=7, headline="")
    assert badge(night)["message"].startswith("not verified")
    assert annotations(night, lambda _: None) == ["::error title=rumpus::"]


DEEP = '{"x":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", '{"name": 1}', b"\xff", DEEP])
def test_what_is_no_night_is_refused_in_a_line(tmp_path, text):
    file = tmp_path / "night.json"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    words = [
        sys.executable,
        "-m",
        "rumpus.nights.documents.on_github",
        file,
        "--badge",
        tmp_path / "badge",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rumpus: {file}: ")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "badge").exists()


def test_a_pipe_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "night.json")
    assert main([str(tmp_path / "night.json")]) == 2
    assert "a pipe" in capsys.readouterr().err
