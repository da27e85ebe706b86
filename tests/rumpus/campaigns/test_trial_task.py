"""Which runs of a campaign keep their files, and where."""

from dataclasses import replace

import pytest

from rumpus.campaigns import trial_task
from rumpus.campaigns.trial_task import perform
from rumpus.results.store_error import StoreError


def test_a_run_that_broke_a_promise_keeps_its_files(deadlock, tmp_path, rumpus):
    task = replace(deadlock.task(), keep=tmp_path / "runs")
    assert perform(task).outcome == "violation"
    (kept,) = (tmp_path / "runs").glob("*/*")
    assert kept == tmp_path / "runs" / "lock" / "kazoo-bare-0"
    assert rumpus("check", kept).code == 1, "it is a run, and judged as it was"


def test_others_do_not(deadlock, tmp_path):
    plan = replace(deadlock.task(), plan=None, keep=tmp_path / "runs")
    calm = replace(plan, settings=replace(plan.settings, nemesis=(), time_limit=1.0))
    assert perform(calm).outcome != "violation"
    assert not (tmp_path / "runs").exists()


def test_so_many_are_kept_and_no_more(deadlock, tmp_path, monkeypatch):
    monkeypatch.setattr(trial_task, "KEPT", 1)
    (tmp_path / "lock" / "kazoo-bare-7").mkdir(parents=True)
    perform(replace(deadlock.task(), keep=tmp_path))
    assert [each.name for each in tmp_path.glob("*/*")] == ["kazoo-bare-7"]


def test_a_directory_that_cannot_be_written_is_said(deadlock, tmp_path):
    (tmp_path / "lock").write_text("in the way")
    with pytest.raises(StoreError, match="cannot keep a run's files"):
        perform(replace(deadlock.task(), keep=tmp_path))
