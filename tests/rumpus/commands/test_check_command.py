"""Judging from disk: the same verdict again, and an answer to whatever is put there."""

import json

import pytest

from rumpus.checker.history import Op
from rumpus.results.seal import SEAL
from tests.checker.recorded import Recorded
from tests.rumpus.commands.refusals import refused
from tests.rumpus.conftest import both_at_once, turns


def judged(rumpus, path, *words):
    """The verdict, after both forms of the answer have been seen to agree."""
    answer = rumpus("check", path, *words, "--json")
    document = json.loads(answer.out)
    assert document["exit_code"] == answer.code
    plain = rumpus("check", path, *words)
    assert (plain.code, plain.out) == (answer.code, "")
    assert "Traceback" not in plain.err
    return document


def test_a_run_is_judged_and_its_results_are_written_anew(rumpus, recorded_run):
    run = recorded_run(turns())
    document = judged(rumpus, run.path)
    assert (document["valid"], document["outcome"]) == (True, "valid")
    assert document["run"] == str(run.path)
    assert (document["seed"], document["workload"], document["recipe"]) == (7, "lock", "yours")
    assert document["ops"] == {"ok": 43, "fail": 0, "info": 0}
    assert json.loads(run.results.read_text()) == document
    for file in (run.report, run.junit, run.summary):
        assert file.stat().st_size


def test_a_history_file_of_a_run_and_a_link_to_a_run_are_the_run(rumpus, recorded_run, tmp_path):
    run = recorded_run(turns())
    (tmp_path / "latest").symlink_to(run.path)
    assert rumpus("check", run.history).code == 0
    assert rumpus("check", tmp_path / "latest").code == 0


def test_a_violation_is_found_again(rumpus, recorded_run):
    document = judged(rumpus, recorded_run(both_at_once(turns(), 125, 200, 200)).path)
    assert (document["valid"], document["exit_code"]) == (False, 1)
    counted = {(each["kind"], each["promised"]): each["count"] for each in document["anomalies"]}
    assert counted == {("token-regression", True): 1}


def test_an_interrupted_run_is_never_green(rumpus, recorded_run):
    document = judged(rumpus, recorded_run(turns(), interrupted=True).path)
    assert (document["valid"], document["outcome"]) == ("unknown", "inconclusive")
    assert document["reasons"] == ["the run was interrupted"]


def test_a_violation_stands_although_the_run_was_interrupted(rumpus, recorded_run):
    run = recorded_run(both_at_once(turns(), 125, 200, 199), interrupted=True)
    assert judged(rumpus, run.path)["exit_code"] == 1


def test_cut_anywhere_a_run_raises_no_alarm(rumpus, recorded_run):
    run = recorded_run(turns(grants=4))
    whole = run.history.read_bytes()
    for cut in range(0, len(whole), 211):
        run.history.write_bytes(whole[:cut])
        answer = rumpus("check", run.path, "--json")
        assert answer.code == 3, answer
        assert json.loads(answer.out)["complete"] is False


def test_cut_anywhere_a_lone_history_raises_no_alarm(rumpus, recorded_run, tmp_path):
    whole = recorded_run(turns(grants=4)).history.read_bytes()
    alone = tmp_path / "alone.jsonl"
    for cut in range(0, len(whole), 211):
        alone.write_bytes(whole[:cut])
        answer = rumpus("check", alone, "--workload", "lock", "--recipe", "fair")
        assert answer.code == 3, answer


def test_a_lone_history_with_two_holders_at_once_stays_open(rumpus, tmp_path, recorded_run):
    """Whether both sessions lived only the servers' logs can tell."""
    recorded = Recorded(2).acquire(1, 2, 0).acquire(1, 3, 1).release(8, 9, 0).release(8, 9, 1)
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(recorded_run(recorded.end(10)).history.read_bytes())
    document = judged(rumpus, alone, "--workload", "lock")
    assert (document["valid"], document["exit_code"]) == ("unknown", 3)
    assert "c0 and c1 both believed" in document["reasons"][0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.jsonl", "run"]


def test_a_lone_history_whose_tokens_go_down_is_a_violation(rumpus, tmp_path, recorded_run):
    recorded = both_at_once(Recorded(2), 1, 200, 100).end(20)
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(recorded_run(recorded).history.read_bytes())
    found = judged(rumpus, alone, "--workload", "lock")
    assert (found["exit_code"], found["anomalies"][0]["kind"]) == (1, "token-regression")


def test_what_is_not_there_or_no_run(rumpus, recorded_run, tmp_path):
    refused(rumpus("check", tmp_path / "nothing"), str(tmp_path / "nothing"), "does not exist")
    refused(rumpus("check", tmp_path), str(tmp_path), "not a run")
    run = recorded_run(turns())
    (tmp_path / "latest").symlink_to(run.path)
    refused(rumpus("check", tmp_path), f"did you mean {tmp_path / 'latest'}?")
    run.history.unlink()
    refused(rumpus("check", run.path), "not a run")


@pytest.mark.parametrize(
    "content", [b"garbage\n", b"\x00\xff\n", b"[]\n", b"{}\n", b"[" * 9000 + b"\n"]
)
def test_garbage_is_refused_with_its_line(rumpus, tmp_path, content):
    path = tmp_path / "garbage.jsonl"
    path.write_bytes(content)
    refused(rumpus("check", path), str(path), "line 1")


def test_an_empty_file_has_nothing_to_judge(rumpus, tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    refused(rumpus("check", path), str(path), "there is nothing to judge")


NESTED = {"a": [{"b": [[[]]]}]}
HOSTILE = [
    Op(time=5, process="session", type="info", f="paused", value={"client": "c0"}),
    Op(time=5, process="session", type="info", f="paused", value={"client": [0]}),
    Op(time=5, process="session", type="info", f="paused", value={"client": -1}),
    Op(time=5, process="session", type="info", f="paused", value={"client": 10**30}),
    Op(time=5, process="session", type="info", f="paused", value=None),
    Op(time=5, process="session", type="info", f="connected", value={"client": 0, "session": 1}),
    Op(time=5, process="session", type="info", f="doubts", value={"client": 0, "process": [1]}),
    Op(time=5, process="witness", type="info", f="act", value={"client": 0, "process": 0}),
    Op(time=5, process="witness", type="info", f="act", value="done"),
    Op(time=5, process="link", type="info", f="watch", value={"client": 0}),
    Op(time=5, process="control", type="info", f="leader", value={}),
    Op(time=5, process="control", type="info", f="phase", value=["final"]),
    Op(time=5, process="nemesis", type="invoke", f="start", value={"id": 1}),
    Op(time=5, process="nemesis", type="invoke", f="start", value={"kind": "kill"}),
    Op(time=5, process="nemesis", type="invoke", f="start", value=None),
    Op(time=5, process="nemesis", type="invoke", f="heal-all", value={"healed": [1]}),
    Op(time=5, process="nemesis", type="invoke", f="heal-all", value={"healed": [{"id": 1}]}),
    Op(time=5, process="nemesis", type="info", f="stop", value={"id": 1}),
    Op(time=5, process=0, type="ok", f="acquire", value={"token": "7"}),
    Op(time=5, process=0, type="ok", f="acquire", value=NESTED["a"]),
    Op(time=5, process=0, type="ok", f="release"),
    Op(time=5, process=1, type="ok", f="inspect", value={"nodes": [NESTED]}),
    Op(time=5, process=2**60, type="invoke", f="acquire"),
    Op(time=5, process=-1, type="invoke", f="acquire"),
    Op(time=10**40, process=0, type="invoke", f="acquire"),
]


@pytest.mark.parametrize("op", HOSTILE, ids=lambda op: f"{op.process}-{op.f}")
def test_a_hostile_record_is_refused_by_name(rumpus, recorded_run, op):
    recorded = Recorded(3)
    recorded.add(1, 0, "invoke", "acquire").add(1, 1, "invoke", "inspect")
    recorded.ops.append(op)
    run = recorded_run(recorded)
    answer = rumpus("check", run.path)
    refused(answer, str(run.history), "record 2", "docs/reference/history-format.md")
    run.record.unlink()
    (run.path / SEAL).unlink()
    refused(rumpus("check", run.path), str(run.history), "record 2")


def test_what_was_healed_may_be_no_faults_of_the_plan(rumpus, recorded_run):
    recorded = turns()
    end = recorded.ops.pop()
    healed = {"verified": True, "healed": [{"id": None, "kind": "stray", "verified": True}]}
    recorded.add(1, "nemesis", "invoke", "heal-all").add(2, "nemesis", "info", "heal-all", healed)
    recorded.ops.append(end)
    assert rumpus("check", recorded_run(recorded).path).code == 0


def test_values_that_nobody_reads_may_be_anything(rumpus, recorded_run):
    recorded = Recorded(3).add(1, 0, "invoke", "acquire", NESTED)
    recorded.add(2, 0, "fail", "acquire", NESTED).add(3, "control", "info", "guess", NESTED)
    recorded.add(4, 1, "invoke", "work", NESTED).add(5, 1, "fail", "work", NESTED)
    assert rumpus("check", recorded_run(recorded.end(6)).path).code == 3


def test_a_process_that_calls_twice_is_refused_by_name(rumpus, recorded_run):
    recorded = Recorded(3).add(1, 0, "invoke", "acquire").add(2, 0, "invoke", "release")
    refused(rumpus("check", recorded_run(recorded).path), "record 1", "still open")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"{", "not a run's description"),
        (b"[]", "not a run's description"),
        (b'{"format": 99}', "format 99 is later"),
        (b'{"format": 1}', "missing required field"),
    ],
)
def test_a_malformed_description_is_refused(rumpus, recorded_run, content, named):
    run = recorded_run(turns())
    run.record.write_bytes(content)
    refused(rumpus("check", run.path), str(run.record), named)


def test_a_workload_from_elsewhere_is_refused(rumpus, recorded_run):
    run = recorded_run(turns(), workload="teapot")
    refused(rumpus("check", run.path), str(run.record), "'teapot' is unknown", "lock, read-write")


def test_servers_logs_that_cannot_be_read_are_told_of(rumpus, recorded_run):
    recorded = Recorded(2).acquire(1, 2, 0).acquire(1, 3, 1).release(8, 9, 0).release(8, 9, 1)
    run = recorded_run(recorded.end(10))
    files = run.nodes / "n1" / "version-2"
    files.mkdir(parents=True)
    (files / "currentEpoch").write_text("garbage")
    run.seal()
    document = judged(rumpus, run.path)
    assert any("the logs of n1 cannot be read" in reason for reason in document["reasons"])
    assert "no transaction logs of the servers are at hand" in document["notes"]


def blocked(run):
    """The report cannot be written: something stands in its place."""
    run.report.mkdir()
    return run


def test_the_verdict_is_shown_although_it_cannot_be_written(rumpus, recorded_run):
    answer = rumpus("check", blocked(recorded_run(turns())).path, "--json")
    assert (answer.code, json.loads(answer.out)["exit_code"]) == (4, 4)
    assert "Valid: every promise" in answer.err
    assert "report.html: cannot write it" in answer.err


def test_a_violation_wins_over_a_report_that_cannot_be_written(rumpus, recorded_run):
    run = blocked(recorded_run(both_at_once(turns(), 125, 200, 200)))
    answer = rumpus("check", run.path, "--json")
    assert (answer.code, json.loads(answer.out)["exit_code"]) == (1, 1)
    assert "report.html: cannot write it" in answer.err
