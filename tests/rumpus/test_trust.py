"""Nothing that only a file names is imported: nobody runs a stranger's code by its case."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rumpus
from rumpus.command_line import main
from rumpus.trust import places_file, trusted_places
from tests.rumpus.campaigns.conftest import DEADLOCK
from tests.sampling import sampled

EVIL = """
from pathlib import Path

Path(__file__).with_name("it-ran").touch()


class Lock:
    def __init__(self, client, path):
        self.held = False

    def acquire(self, timeout=None):
        return False

    def release(self):
        pass
"""
NAMED = '[tool.rumpus.recipes.evil]\nworkload = "lock"\nrecipe = "evil_lock:Lock"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a stranger's module in it."""
    place = tmp_path / "here"
    place.mkdir()
    (place / "evil_lock.py").write_text(EVIL)
    (place / "evil.diff").write_text("--- a/kazoo/client.py\n")
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))  # taken away again afterwards
    return place


def case(here, folder="cases", **settings):
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "evil_lock:Lock", "time_limit": 2.5} | settings
    path = here / folder / "given.case.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def ran(here):
    return (here / "it-ran").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["replay"],
        ["shrink", "--jobs", "1"],
        ["cause", "--jobs", "1"],
        ["bisect", "--kazoo", "2.10.0..2.11.0"],
        ["bisect", "--commits", "HEAD~1..HEAD"],
        ["triage", "--mends", "a.diff"],
    ],
)
def test_a_case_is_refused_that_names_strange_code(here, capsys, words):
    path = case(here)
    assert main([words[0], str(path), *words[1:]]) == 2
    told = capsys.readouterr().err
    assert f"recipe evil_lock:Lock, from {here / 'evil_lock.py'}" in told
    assert "--trust" in told
    assert not ran(here)


def test_pip_is_not_taken_from_a_strangers_tree(here, monkeypatch, capsys):
    (here / "pip.py").write_text(EVIL)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert main(["replay", str(case(here, recipe="fair", kazoo="2.6.0"))]) == 4
    assert "pip cannot install kazoo 2.6.0" in " ".join(capsys.readouterr().out.split())
    assert not ran(here)


def test_no_python_is_started_that_looks_for_modules_in_the_working_directory():
    """``-P`` and ``-I`` take it off the path, on which ``-c`` and ``-m`` put it first."""
    started = [
        (each.name, found[1])
        for folder in ("rumpus", "harness")
        for each in Path(rumpus.__file__).parents[1].joinpath(folder).rglob("*.py")
        for found in re.finditer(r"sys\.executable,\s*(\S+)", each.read_text())
        if found[1] != "*worker],"
    ]
    assert len(started) > 5
    assert {word for _, word in started} == {'"-P",', '"-I",'}, started


def test_what_no_path_can_be_is_refused_by_its_name(here, capsys):
    for name in ("kazoo", "patch"):
        for value in ("~nobody-has-that-name/x", "2.8.0+~nobody-has-that-name/x", "x" * 5000):
            assert main(["replay", str(case(here, recipe="fair", **{name: value}))]) in (2, 4)
            assert "defect" not in capsys.readouterr().err
        assert main(["replay", str(case(here, recipe="fair", **{name: "a\0b"}))]) == 2
        assert f"{name}: 'a\\x00b' has a null character" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recipe": "fair", "fault": ["evil_lock:Fault"]}, "fault evil_lock:Fault, from "),
        ({"recipe": "x", "workload": "evil_lock:Load"}, "workload evil_lock:Load, from "),
        ({"recipe": "fair", "kazoo": "."}, "kazoo ., from "),
        ({"recipe": "fair", "kazoo": "+evil.diff"}, "kazoo evil.diff, from "),
        ({"recipe": "fair", "ensemble": "docker", "image": "mine:1"}, "image mine:1, from mine:1"),
        ({"recipe": "rumpus.git_calls:os.system"}, "recipe rumpus.git_calls:os.system, from posix"),
        ({"recipe": "kazoo.client:re"}, "recipe kazoo.client:re, from module"),
        ({"recipe": "rumpus.program:main"}, "recipe rumpus.program:main, from rumpus.program"),
        ({"recipe": "this:s"}, "recipe this:s, from "),  # of the standard library: it prints
    ],
)
def test_whatever_a_case_names_is_code(here, capsys, settings, told):
    assert main(["replay", str(case(here, **settings))]) == 2
    assert told in capsys.readouterr().err
    assert not ran(here)


@sampled("option", ["recipe", "workload", "fault"], of=3)
@pytest.mark.parametrize("module", [".evil_lock", "..evil_lock", "evil_lock.", "__main__", ".this"])
def test_what_is_no_name_of_a_module_is_not_imported(here, capsys, module, option):
    """Python imports `.this`, too, where whoever looks for a module of that name finds none."""
    name = f"{module}:Lock"
    settings = {"recipe": "fair", option: [name] if option == "fault" else name}
    assert main(["replay", str(case(here, **settings))]) == 2
    told = capsys.readouterr()
    assert "is no module's name" in told.out + told.err or "--trust" in told.err
    assert not ran(here)
    assert "this" not in sys.modules


def test_a_test_is_printed_of_whatever_case(here, capsys):
    assert main(["replay", str(case(here)), "--as-test"]) == 0
    assert "rumpus.replay(CASE)" in capsys.readouterr().out
    assert not ran(here)


def test_what_was_trusted_once_is_trusted_there_and_nowhere_else(here, capsys):
    path = case(here)
    assert main(["replay", str(path), "--trust"]) in (0, 1, 3)
    assert ran(here)
    assert trusted_places() == [str(here / "evil_lock.py")]
    (here / "it-ran").unlink()
    assert main(["replay", str(path)]) in (0, 1, 3)
    shutil.move(here / "evil_lock.py", here / "evil_other.py")
    assert main(["replay", str(case(here, recipe="evil_other:Lock"))]) == 2
    assert "evil_other" in capsys.readouterr().err


def test_code_that_a_command_line_has_named_is_trusted(here):
    words = ["lock", "--recipe", "evil_lock:Lock", "--ensemble", "sim", "--time-limit", "1"]
    main(["run", *words, "--nemesis", "none"])
    assert trusted_places() == [str(here / "evil_lock.py")]
    assert main(["replay", str(case(here))]) in (0, 1, 3)


def test_code_that_the_project_names_is_trusted_but_not_if_its_file_came_with_the_case(here):
    (here / "pyproject.toml").write_text(NAMED)
    beside = case(here, folder=".")
    assert main(["replay", str(beside)]) == 2
    assert not ran(here)
    beside.unlink()
    assert main(["replay", str(case(here))]) in (0, 1, 3)
    assert ran(here)
    assert trusted_places() == []


def test_a_file_of_trusted_places_that_is_none_is_said(here, capsys):
    places_file().parent.mkdir(parents=True)
    places_file().write_text('{"all": true}')
    assert main(["replay", str(case(here))]) == 2
    assert f"{places_file()}: no list of trusted places" in capsys.readouterr().err
    assert not ran(here)


@pytest.mark.parametrize("words", [["list"], ["check", "history.jsonl", "--model", "evil"]])
def test_what_a_runs_directory_brings_along_is_not_imported(here, monkeypatch, capsys, words):
    """A stranger's run has a pyproject.toml that gives names to the module beside it."""
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(here)])
    (here / "pyproject.toml").write_text(
        f'{NAMED}\n[tool.rumpus.models]\nevil = "evil_lock:Lock"\n'
    )
    for name in ("test.json", "history.jsonl"):
        (here / name).write_text("{}")
    main(words)
    told = capsys.readouterr().err
    assert not ran(here)
    assert told.count("pyproject.toml is ignored: it lies in the run") == 1
    main(["check", "history.jsonl", "--model", "evil_lock:Lock"])
    assert not ran(here)
    assert "there is no module 'evil_lock': modules are looked for" in capsys.readouterr().err


LOCK = "run lock --ensemble sim --time-limit 1 --nemesis none"


@sampled("named", ["", NAMED], of=2, ids=["no project", "a project that names its own"])
def test_what_a_library_imports_if_it_is_there_is_not_taken_from_a_strangers_tree(tmp_path, named):
    """``kazoo`` tries ``import puresasl``, which is not installed here."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/it.case.json").write_text(DEADLOCK)
    (tmp_path / "puresasl.py").write_text(EVIL + "\nraise ImportError('none')\n")
    (tmp_path / "evil_lock.py").write_text(EVIL)
    (tmp_path / "pyproject.toml").write_text(named)
    source = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def rumpus(words):
        command = [sys.executable, "-P", "-m", "rumpus.program", *words.split()]
        done = subprocess.run(
            command, cwd=tmp_path, env=source, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 1, 3), done.stderr

    for words in ("replay cases/it.case.json", LOCK):
        rumpus(words)
        assert not ran(tmp_path)
    rumpus(f"{LOCK} --recipe evil_lock:Lock")
    assert ran(tmp_path), "what the command line names is imported"


@pytest.mark.parametrize("linked", ["settings", "case", "nothing"])
def test_a_link_makes_no_project_of_a_strangers_tree(here, linked, capsys):
    """Neither the settings nor the case are where a link says, nor where it leads."""
    sent = case(here, "sent")
    (here / "sent" / "source").mkdir()
    shutil.copy("evil_lock.py", here / "sent" / "source")
    settings = here / "sent" / "source" / "pyproject.toml"
    if linked == "settings":
        (here / "common.toml").write_text(NAMED)
        settings.symlink_to(here / "common.toml")
    else:
        settings.write_text(NAMED)
    if linked == "case":
        (here / "elsewhere").mkdir()
        sent.rename(here / "elsewhere" / "given.json")
        sent = here / "sent" / "given.json"
        sent.symlink_to(here / "elsewhere" / "given.json")
    os.chdir(settings.parent)
    assert main(["replay", str(sent)]) == 2
    assert "names code that is not imported" in capsys.readouterr().err
    assert not ran(settings.parent)


def test_a_directory_that_is_named_may_have_come_as_a_whole(here, capsys):
    case(here)
    (here / "pyproject.toml").write_text(NAMED)
    assert main(["replay", "."]) == 2
    assert "names code that is not imported" in capsys.readouterr().err
    assert not ran(here)
    assert main(["replay", "cases"]) in (0, 1, 3)
    assert ran(here)


def committed(place):
    """A repository with two commits."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "."], *(["commit", "-q", "--allow-empty", "-m", n] for n in "ab")):
        subprocess.run([*git, *words], cwd=place, check=True)


@pytest.mark.parametrize("settings", [{}, {"recipe": "fair", "kazoo": "../worktree/../no/kz"}])
def test_what_is_only_where_a_commit_is_checked_out_is_not_trusted_either(
    here, tmp_path, capsys, settings
):
    """There `../worktree` exists, and so does what lies in the commit."""
    work = tmp_path / "work"
    work.mkdir()
    committed(work)
    os.chdir(work)
    sys.path.remove(str(here))
    path = case(work, **settings)
    assert main(["bisect", str(path), "--commits", "HEAD~1..HEAD", "--seeds", "1"]) == 2
    assert "code that is not imported just because a file names it" in " ".join(
        capsys.readouterr().err.split()
    )
    assert trusted_places() == []
