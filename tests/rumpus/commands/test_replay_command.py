import json
import os
from pathlib import Path

import pytest

from rumpus.command_line import main
from tests.rumpus.campaigns.conftest import DEADLOCK


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a case that fails, one that does not, and one that cannot be performed."""
    place = tmp_path_factory.mktemp("cases")
    for name, recipe in (("fails", "kazoo-bare"), ("holds", "fair"), ("wrong", "none")):
        document = json.loads(DEADLOCK)
        document["settings"]["recipe"] = recipe
        directory = place / ("wrong" if name == "wrong" else "good")
        directory.mkdir(exist_ok=True)
        (directory / f"{name}.case.json").write_text(json.dumps(document))
    return place


def replayed(capsys, *words):
    code = main(["replay", *map(str, words), "--json", "--jobs", "1"])
    return code, json.loads(capsys.readouterr().out)


def test_all_cases_of_a_directory_are_replayed(place, capsys):
    code, told = replayed(capsys, place)
    rows = {row["case"]: row for row in told["cases"]}
    assert code == 1
    assert rows["good/fails"]["reproduced"] is True
    assert rows["good/fails"]["verdict"] == "reproduced"
    assert rows["good/holds"]["reproduced"] is False
    assert rows["wrong/wrong"]["reproduced"] == "unknown"
    assert "unknown recipe 'none'" in rows["wrong/wrong"]["error"]


def test_a_name_that_is_not_utf_8_is_escaped(tmp_path, capsys):
    wrong = json.loads(DEADLOCK) | {"settings": {"workload": "lock", "recipe": "none"}}
    Path(os.fsdecode(bytes(tmp_path / "x") + b"\xff.case.json")).write_text(json.dumps(wrong))
    _, told = replayed(capsys, tmp_path)
    assert [row["case"] for row in told["cases"]] == ["x\\xff"]


def test_cases_of_one_name_in_two_folders_are_two_cases(tmp_path, capsys):
    wrong = json.loads(DEADLOCK) | {"settings": {"workload": "lock", "recipe": "none"}}
    for name in ("lock", "election"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.case.json").write_text(json.dumps(wrong))
    _, told = replayed(capsys, tmp_path)
    assert [row["case"] for row in told["cases"]] == ["election/one", "lock/one"]
    assert main(["replay", str(tmp_path), "--as-test"]) == 0
    text = capsys.readouterr().out
    assert ("def test_election_one():" in text, "def test_lock_one():" in text) == (True, True)


@pytest.mark.parametrize(("name", "code"), [("good/holds", 0), ("wrong/wrong", 2)])
def test_the_exit_code_tells_what_came_of_a_case(place, name, code, capsys):
    assert replayed(capsys, place / f"{name}.case.json")[0] == code


def test_a_test_module_is_printed(place, capsys):
    assert main(["replay", str(place / "good" / "fails.case.json"), "--as-test"]) == 0
    assert "def test_fails():" in capsys.readouterr().out


def test_a_run_is_replayed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(json.loads(DEADLOCK)["plan"]))
    words = "run lock --recipe kazoo-bare --ensemble sim --seed 0 --clients 3 --time-limit 1.1"
    words += f" --preemption blocking --plan {plan}"
    assert main([*words.split(), "--json"]) == 1
    capsys.readouterr()
    code, told = replayed(capsys, tmp_path / "runs" / "latest")
    assert (code, told["reproduced"], told["same_run"]) == (1, True, True)


def test_the_report_of_a_case_is_written(place, capsys):
    file, case = place / "report.html", str(place / "good" / "fails.case.json")
    assert main(["replay", case, "--report", str(file)]) == 1
    assert f"report: {file}" in capsys.readouterr().err
    page = file.read_text()
    assert "Violation: the recipe broke a promise" in page
    assert f"rumpus replay {case}" in page


@pytest.mark.parametrize("words", [["."], ["good/fails.case.json", "--kazoo", "2.10.0"]])
def test_a_report_is_of_one_case_as_it_is(place, monkeypatch, capsys, words):
    monkeypatch.chdir(place)
    assert main(["replay", *words, "--report", "report.html"]) == 2
    assert "--report is for a single case as it is" in capsys.readouterr().err


def test_where_there_is_no_case_it_is_said(tmp_path, capsys):
    assert main(["replay", str(tmp_path)]) == 2
    assert "*.case.json" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "missing")]) == 2
    assert "missing" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["replay", "shrink"])
@pytest.mark.parametrize("ensemble", ["docker", "sim"])
def test_that_a_seed_does_not_decide_a_run_on_real_servers_is_said(
    command, ensemble, tmp_path, capsys
):
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "none", "ensemble": ensemble}
    given = tmp_path / "given.case.json"
    given.write_text(json.dumps(document))
    assert main([command, str(given), "--jobs", "1"]) == 2
    said = "the seed does not decide a run" in capsys.readouterr().err
    assert said == (ensemble == "docker")


@pytest.mark.parametrize(
    "words",
    [
        ["replay"],
        ["replay", "--report", "x.html"],
        ["shrink", "-o", "x.case.json"],
        ["cause"],
        ["bisect", "--kazoo", "2.11.0", "--seeds", "1"],
    ],
)
def test_a_case_that_asks_for_a_long_run_has_the_time_that_it_is_given(
    tmp_path, monkeypatch, capsys, words
):
    monkeypatch.chdir(tmp_path)
    document = json.loads(DEADLOCK)
    document["settings"] |= {"recipe": "fair", "clients": 100, "time_limit": 1e6}
    Path("long.case.json").write_text(json.dumps(document))
    command, *more = words
    assert main([command, "long.case.json", "--budget", "1", "--jobs", "1", *more]) == 3
    told = capsys.readouterr()
    assert "ended after 1 s: there was no more time for it" in told.out + told.err
