"""Bisection over kazoos: copies of the installed one, some with a lock that all have at once."""

import json

import pytest

from rumpus.command_line import main
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.runs import client_library
from rumpus.runs.client_library import released_kazoos
from rumpus.usage_error import UsageError
from tests.copied_kazoo import NO_QUEUE, copied_kazoo
from tests.rumpus.campaigns.conftest import DEADLOCK


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def case(tmp_path):
    document = json.loads(DEADLOCK)
    document["settings"]["preemption"] = "none"
    document["plan"]["entries"] = []
    document["expects"] = {"kind": "split-brain"}
    path = tmp_path / "it.case.json"
    path.write_text(json.dumps(document))
    return path


def test_the_version_is_found_in_which_the_failure_came(case, tmp_path, capsys):
    good, bad = copied_kazoo(tmp_path / "good"), copied_kazoo(tmp_path / "bad", **NO_QUEUE)
    missing = tmp_path / "missing"
    words = ["bisect", case, "--kazoo", f"{good},{missing},{bad}", "--seeds", 1, "--jobs", 1]
    assert main([*map(str, words), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    verdicts = [each["verdict"] for each in told["versions"]]
    assert verdicts == ["not reproduced", "cannot run", "reproduced"]
    assert "neither a version" in told["versions"][1]["error"]
    (change,) = told["changes"]
    assert (change["what"], change["before"], change["after"]) == ("came", str(good), str(bad))
    assert change["cannot_tell"] == [str(missing)]


def test_a_table_and_the_answer_are_printed(case, tmp_path, capsys):
    good = copied_kazoo(tmp_path / "g")
    words = ["bisect", case, "--kazoo", good, "--seeds", 2, "--jobs", 1]
    assert main([*map(str, words)]) == 0
    told = capsys.readouterr()
    assert f"{good}: not reproduced in 2 runs\n" in told.err
    assert "not reproduced in 2 runs" in told.out
    assert f"it is not in {good}" in told.out


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--kazoo", ".."], "name the oldest and the newest"),
        (["--kazoo", ","], "no versions are named"),
        (["--zookeeper", "3.4,3.7"], "there is no ZooKeeper '3.7'"),
        (["--commits", "HEAD"], "name the oldest and the newest"),
        (["--kazoo", "2.9.0", "--repository", "."], "--repository goes with --commits"),
    ],
)
def test_what_is_no_range_is_refused(case, words, answer, capsys):
    assert main(["bisect", str(case), *words]) == 2
    assert answer in capsys.readouterr().err


@pytest.fixture
def pip(monkeypatch, tmp_path):
    """A pip that lists these versions; a function that says what it prints."""

    def says(text, code=0):
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\ncat <<'E'\n{text}\nE\nexit {code}\n")
        script.chmod(0o700)
        monkeypatch.setattr(client_library.sys, "executable", str(script))

    return says


def test_released_versions_are_those_of_the_index(pip):
    pip("kazoo (2.8.0)\nAvailable versions: 2.8.0, 2.7.0, 2.6.1, 2.6.0\n  INSTALLED: 2.8.0")
    assert released_kazoos("2.6.1", "2.8.0") == ["2.6.1", "2.7.0", "2.8.0"]
    with pytest.raises(UsageError, match=r"no kazoo 2.6.9; pip finds 2.6.0, 2.6.1"):
        released_kazoos("2.6.9", "2.8.0")
    with pytest.raises(UsageError, match="newer"):
        released_kazoos("2.8.0", "2.6.1")


def test_where_pip_finds_nothing_there_is_another_way(pip):
    pip("", code=1)
    with pytest.raises(EnvironmentRefusal, match="name them one by one"):
        released_kazoos("2.6.1", "2.8.0")


@pytest.mark.usefixtures("no_engine")
def test_versions_of_zookeeper_are_real_servers(case, capsys):
    words = ["bisect", str(case), "--zookeeper", "3.4,3.9,3.9.6", "--jobs", "1", "--json"]
    assert main(words) == 4
    told = json.loads(capsys.readouterr().out)
    assert [each["version"] for each in told["versions"]] == ["3.4.13", "3.9.6"]
    assert all("no Docker engine answers" in each["error"] for each in told["versions"])
