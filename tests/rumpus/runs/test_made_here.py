"""Whose word it is that a run was ever made."""

import json
import shutil

import pytest

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from rumpus.results.seal import seal
from rumpus.runs import made_here
from rumpus.runs.judging import judge_run, weigh_origin
from rumpus.runs.made_here import is_made_here, made_file, note_made

WORDS = ["--ensemble", "sim", "--seed", "3", "--time-limit", "6", "--nemesis", "none"]


@pytest.fixture(scope="module")
def performed(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        assert main(["run", "lock", *WORDS, "--runs", str(place / "runs")]) == 0
    return place / "runs" / "latest", place / "state"


def checked(capsys, run, *words):
    code = main(["check", str(run), "--json", *words])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


def test_a_run_is_known_where_it_was_made_also_as_a_copy(performed, monkeypatch, tmp_path, capsys):
    run, state = performed
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    for each in (run, copy):
        code, document, said = checked(capsys, each)
        assert (code, document["outcome"]) == (0, "valid")
        assert "as they were made here" in said


def test_a_run_from_elsewhere_is_valid_by_more_than_its_files(performed, capsys):
    run, _ = performed
    code, document, said = checked(capsys, run)
    assert (code, document["outcome"]) == (3, "unknown")
    assert "--perform" in document["reasons"][0]
    assert "were not made here" in said
    code, document, said = checked(capsys, run, "--perform")
    assert (code, document["outcome"]) == (0, "valid")
    assert "evidence:   the run, performed again" in said
    assert checked(capsys, run)[0] == 3
    assert checked(capsys, run, "--believe")[0] == 0
    assert checked(capsys, run)[0] == 0


def test_who_seals_it_again_makes_it_a_run_from_elsewhere(performed, monkeypatch, tmp_path, capsys):
    run, state = performed
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "clients" / "c0.log").write_text("nothing happened\n")
    seal(copy)
    code, document, _ = checked(capsys, copy)
    assert (code, document["outcome"]) == (3, "unknown")


def test_a_violation_stands_whoever_made_it(tmp_path, monkeypatch, capsys):
    """What is broken is broken by what the files say themselves."""
    words = ["--recipe", "releases-nothing", *WORDS, "--runs", str(tmp_path)]
    assert main(["run", "lock", *words]) == 1
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    capsys.readouterr()
    code, document, said = checked(capsys, tmp_path / "latest")
    assert (code, document["outcome"]) == (1, "violation")
    assert "were not made here" in said


def test_many_runs_are_kept_and_the_oldest_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(made_here, "_MOST", 10)
    runs = [tmp_path / str(number) for number in range(16)]
    for run in runs:
        run.mkdir()
        (run / "history.jsonl").write_text(run.name)
        seal(run)
        note_made(run)
        assert is_made_here(run)
    assert made_file().stat().st_size <= 11 * 65
    kept = [is_made_here(run) for run in runs]
    assert kept == sorted(kept)
    assert 5 <= sum(kept) <= 11


def test_a_file_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "run").mkdir()
    seal(tmp_path / "run")
    said = []
    note_made(tmp_path / "run", said.append)
    assert "--believe" in said[0]
    assert not is_made_here(tmp_path / "run")


def test_a_run_without_a_seal_was_made_nowhere(tmp_path):
    note_made(tmp_path)
    assert not is_made_here(tmp_path)


def test_a_comparison_takes_no_run_from_elsewhere_and_each_run_once(
    performed, monkeypatch, tmp_path, capsys
):
    run, state = performed
    words = ["compare", str(run), str(tmp_path / "runs"), "--json"]
    for copy in ("a", "b"):
        shutil.copytree(run, tmp_path / "runs" / copy)
    assert main(words) == 2
    assert "its own files prove neither what it shows nor" in " ".join(
        capsys.readouterr().err.split()
    )
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == [1, 1], "copies are no further runs"


def test_a_model_says_valid_of_a_runs_history_only_if_it_was_made_here(
    monkeypatch, tmp_path, capsys
):
    runs = tmp_path / "runs"
    assert main(["run", "sequence", *WORDS, "--runs", str(runs)]) == 0
    words = ["check", str(runs / "latest"), "--model", "unique-ids", "--json"]

    def told():
        capsys.readouterr()
        code = main(words)
        return code, json.loads(capsys.readouterr().out)["unknown"]

    assert told() == (0, [])
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
        code, (why,) = told()
        assert code == 3
        assert "--believe" in why
    history = runs / "latest" / "history.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    history.write_text("".join(lines[:-1]))
    code, (why,) = told()
    assert code == 3
    assert "history.jsonl was changed" in why


def test_what_is_written_of_a_run_from_elsewhere_is_not_valid_either(performed):
    run, _ = performed
    judgement = judge_run(RunDirectory(run.resolve()))
    assert judgement.verdict.outcome == "valid"
    weigh_origin(RunDirectory(run.resolve()), judgement.verdict)
    assert judgement.verdict.outcome == "unknown"
