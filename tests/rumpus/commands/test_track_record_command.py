"""``rumpus track-record``."""

import json
import shutil

import pytest

from rumpus.campaigns.exploring import Exploration
from rumpus.campaigns.findings import Findings
from rumpus.commands import track_record_command
from rumpus.track_record.record_file import FILE, Sight, read_measured
from tests.rumpus.track_record.ours import ROOT

CASE = "findings/09-queue-priorities.case.json"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record with one case."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases/findings").mkdir(parents=True)
    shutil.copy(ROOT / "cases" / CASE, tmp_path / "cases" / CASE)
    (tmp_path / FILE).write_text(
        f'[[flaw]]\ncase = "{CASE}"\nprogram = "kazoo"\ndiscovered = "blind"\n'
        'date = 2026-11-22\nupstream = "not reported"\n'
    )
    return tmp_path / FILE


def test_a_replayed_case_was_seen_today(rumpus, record):
    assert "not performed again" in rumpus("track-record").out
    answer = rumpus("track-record", "--replay", "--jobs", 1)
    assert answer.code == 0
    day = read_measured(record)[CASE].reproduced
    assert f"last seen {day}" in answer.out


def test_a_case_that_shows_nothing_any_more_is_told(rumpus, record):
    case = record.parent / CASE
    changed = json.loads(case.read_text())
    changed["settings"]["recipe"] = "priority"
    changed["settings"]["workload"] = "priority-queue"
    case.write_text(json.dumps(changed))
    answer = rumpus("track-record", "--replay", "--jobs", 1, "--json")
    told = json.loads(answer.out)
    assert (answer.code, told["exit_code"], told["gone"]) == (1, 1, [CASE])
    assert f"{CASE}: not reproduced" in answer.err
    assert read_measured(record) == {}


def test_what_is_measured_is_kept_and_not_measured_again(rumpus, record, monkeypatch):
    asked = []

    def measured(case, settings, _performers, *, budget, notify):
        asked.append((settings.workload, settings.recipe, case.expects.kind, budget))
        notify(Exploration(Findings(), runs=4))
        return (Sight(runs=4, cpu_seconds=6.0, seen=True),)

    monkeypatch.setattr(track_record_command, "first_sights", measured)
    words = ["track-record", "--measure", "--jobs", 1, "--budget", 20]
    assert "| 4 runs, 0.10 CPU min |" in rumpus(*words).out
    assert read_measured(record)[CASE].sights[0].runs == 4
    assert "4 runs" in rumpus(*words).out
    assert asked == [("priority-queue", "kazoo", "out-of-order", 20)]


def test_a_case_without_a_recipe_is_measured_with_the_first(rumpus, record, monkeypatch):
    case = record.parent / CASE
    changed = json.loads(case.read_text())
    del changed["settings"]["recipe"]
    case.write_text(json.dumps(changed))
    asked = []

    def measured(_case, settings, *_performers, **_options):
        asked.append((settings.workload, settings.recipe))
        return (Sight(runs=4, cpu_seconds=6.0, seen=True),)

    monkeypatch.setattr(track_record_command, "first_sights", measured)
    assert rumpus("track-record", "--measure", "--jobs", 1).code == 0
    assert asked == [("priority-queue", None)]


def test_without_a_record_it_says_what_is_missing(rumpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = rumpus("track-record")
    assert answer.code == 2
    assert "cases/track-record.toml" in answer.err
