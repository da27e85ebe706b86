"""How far a run is, as its directory says it while it goes on."""

import json
import os

import pytest

from rumpus.results.seal import seal
from rumpus.runs.made_here import is_written_here, note_written
from rumpus.serving.following import SILENT_S, Follower


def line(process, type_, f, time=0, value=None):
    record = {"process": process, "type": type_, "f": f, "time": time, "value": value}
    return json.dumps(record) + "\n"


@pytest.fixture
def run(tmp_path):
    (tmp_path / "test.json").write_text(
        '{"workload": "lock", "recipe": "fair", "ensemble": "sim", "seed": 7}'
    )
    (tmp_path / "history.jsonl").write_text(line(0, "invoke", "acquire", 10**9))
    return tmp_path


def add(run, text):
    with (run / "history.jsonl").open("a") as file:
        file.write(text)


def test_records_are_counted_once_as_they_come(run):
    follower = Follower(run)
    first = follower.progress()
    assert (first.what, first.state, first.live) == ("lock / fair, sim, seed 7", "goes on", True)
    assert (first.records, first.ended) == (1, {})
    whole = line(0, "ok", "acquire", 3 * 10**9)
    add(run, whole[:20])
    assert follower.progress().records == 1
    add(run, whole[20:])
    second = follower.progress()
    assert (second.records, second.ended, second.seconds) == (2, {"ok": 1}, 2.0)
    assert second.last == ("    2.000 s  process 0 acquire: ok",)
    assert follower.progress() == second


def test_faults_are_in_force_until_they_are_healed(run):
    follower = Follower(run)
    add(run, line("nemesis", "invoke", "start", 2, {"id": 1, "kind": "kill"}))
    assert follower.progress().faults == ()
    add(run, line("nemesis", "info", "start", 3, {"id": 1, "kind": "kill"}))
    assert (follower.progress().faults, follower.progress().injected) == (("kill",), 1)
    add(run, line("nemesis", "info", "stop", 4, {"id": 1, "kind": "kill"}))
    assert (follower.progress().faults, follower.progress().injected) == ((), 1)


def test_a_run_is_judged_and_has_an_outcome(run):
    follower = Follower(run)
    seal(run)
    assert (follower.progress().state, follower.progress().live) == ("is judged", True)
    (run / "results.json").write_text('{"outcome": "violation", "reasons": ["two held it"]}')
    note_written(run)
    done = follower.progress()
    assert (done.state, done.tone, done.reasons) == ("violation", "violation", ("two held it",))
    assert not done.live
    assert Follower(run).progress().state == "violation"
    add(run, line(0, "ok", "acquire", 2 * 10**9))  # since it was sealed
    changed = Follower(run).progress()
    assert (changed.state, changed.tone) == ("violation, as it says", "open")


def test_results_that_somebody_else_has_written_are_no_outcome(run):
    for name in ("results.json", "report.html"):
        (run / name).write_text('{"outcome": "valid", "reasons": []}')
    assert not is_written_here(run, "report.html")
    told = Follower(run).progress()
    assert (told.state, told.tone) == ("valid, as it says", "open")
    assert "`rumpus check` did not write this here" in told.reasons[0]
    note_written(run)
    assert is_written_here(run, "report.html")
    assert Follower(run).progress().state == "valid"
    (run / "results.json").write_text('{"outcome": "valid", "reasons": [""]}')
    assert Follower(run).progress().tone == "open"
    (run / "seal.json").write_text("{}")  # of another run, which has this one's report
    assert not is_written_here(run, "report.html")


def test_a_run_of_which_nothing_is_heard_is_not_followed(run):
    history = run / "history.jsonl"
    before = history.stat().st_mtime - SILENT_S - 5
    os.utime(history, (before, before))
    assert (Follower(run).progress().state, Follower(run).progress().live) == ("silent", False)


@pytest.mark.parametrize(
    "text",
    ["{}\n", "nonsense\n", '{"process": "nemesis", "type": "info", "f": "start", "time": 1}\n',
     "[" * 100_000 + "\n", "\x00\n", line("nemesis", "info", "start", 1, [1]),
     line(0, "ok", "acquire", 10**400), line(0, "ok", "acquire", -(2**63)),
     line(10**400, "ok", "acquire", 1)],
)  # fmt: skip
def test_what_is_no_record_is_left_out(run, text):
    add(run, text)
    add(run, line(0, "ok", "acquire", 5))
    told = Follower(run).progress()
    assert told.ended == {"ok": 1}
    assert told.seconds == 0


def test_another_history_in_its_place_is_read_from_its_beginning(run):
    follower = Follower(run)
    add(run, line(0, "ok", "acquire", 5))
    assert follower.progress().records == 2
    (run / "history.jsonl").write_text(line(1, "fail", "x"))
    assert follower.progress().ended == {"fail": 1}


def test_a_directory_with_nothing_readable_in_it_has_no_progress(tmp_path):
    (tmp_path / "test.json").write_text("[]")
    os.mkfifo(tmp_path / "history.jsonl")
    told = Follower(tmp_path).progress()
    assert (told.what, told.records, told.state) == ("", 0, "goes on")


def test_a_link_among_a_runs_files_leads_nowhere(run, tmp_path):
    (tmp_path / "secret.json").write_text('{"outcome": "of mine", "reasons": ["of mine"]}')
    (run / "results.json").symlink_to(tmp_path / "secret.json")
    told = Follower(run).progress()
    assert "of mine" not in f"{told.state} {told.reasons}"
