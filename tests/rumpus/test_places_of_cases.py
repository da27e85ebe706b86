"""Where a command could not write its cases in the end, it says so before it performs a run."""

import pytest

from tests.rumpus.campaigns.conftest import DEADLOCK

EXPLORE = "explore", "lock", "--recipe", "fair"
NIGHT = '[[jobs]]\nworkloads = ["lock"]\nrecipes = ["fair"]\nkinds = ["usual"]\n'


@pytest.fixture(autouse=True)
def no_runs(monkeypatch):
    def refuse(*_):
        pytest.fail("a run is performed")

    for module in (
        *("commands.explore_command", "systematic_corners", "commands.shrink_command"),
        *("commands.reproduce_command", "commands.mutants_command", "commands.replay_command"),
    ):
        monkeypatch.setattr(f"rumpus.{module}.processes", refuse)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ([*EXPLORE, "--cases"], "--cases DIR"),
        ([*EXPLORE, "--systematic", "drops", "--cases"], "--cases DIR"),
        (["mutants", "--family", "lock", "--cases"], "--cases DIR"),
        (["merge", "CASE", "--cases"], "--cases DIR"),
        (["shrink", "CASE", "-o"], "-o FILE"),
        (["reproduce", ".", "-o"], "-o FILE"),
        (["replay", "CASE", "--report"], "--report FILE"),
        (["nightly", "--output"], "--output DIR"),
    ],
)
def test_a_place_that_takes_no_cases_is_refused_at_the_start(
    rumpus, tmp_path, monkeypatch, words, option
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    if "CASE" in words:
        (tmp_path / "it.case.json").write_text(DEADLOCK)
    else:  # beside a case it would be ignored
        (tmp_path / "nightly.toml").write_text(NIGHT)
    words = ["it.case.json" if word == "CASE" else word for word in words]
    answer = rumpus(*words, "file/place")
    assert answer.code == 4, answer.err
    assert f"a file stands where a directory is needed: remove it, or use {option}" in answer.err
    assert "--runs" not in answer.err
