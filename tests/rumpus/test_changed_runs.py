"""Evidence that was changed after its run never makes it valid, nor a violation."""

import json

import pytest

from rumpus.recipes.lock.contest_lock import FairLock
from rumpus.results.seal import SEAL
from rumpus.runs.judging import judge_run
from tests.rumpus.conftest import both_at_once, turns


def outcome(run):
    return judge_run(run)[2].outcome


def broken():
    return both_at_once(turns(), 200, 9, 8)


def rewritten(run, **fields):
    document = json.loads(run.record.read_text())
    run.record.write_text(json.dumps({**document, **fields}))


def test_a_whole_run_is_judged(recorded_run):
    run = recorded_run(turns())
    assert "evidence" not in {check.name for check in judge_run(run)[2].checks}


def test_a_violation_cannot_be_promised_away(recorded_run):
    run = recorded_run(broken())
    assert outcome(run) == "violation"
    promises = json.loads(run.record.read_text())["promises"]
    rewritten(run, promises={**promises, "prevents": []})
    assert outcome(run) == "unknown"
    assert "test.json was changed" in judge_run(run)[2].reasons[0]


def test_what_was_changed_breaks_no_promise(recorded_run):
    run = recorded_run(turns())
    changed = turns()
    both_at_once(changed, 200, 9, 8)
    run.history.unlink()
    with run.history_writer() as writer:
        for op in changed.ops:
            writer.append(op)
    assert outcome(run) == "unknown"
    assert not any(anomaly.promised for anomaly in judge_run(run)[2].anomalies)


@pytest.mark.parametrize("json", [(), ("--json",)])
@pytest.mark.parametrize("named", ["", "history.jsonl"])
def test_a_sealed_run_without_its_description_is_no_history_alone(
    rumpus, recorded_run, named, json
):
    run = recorded_run(turns())
    run.record.unlink()
    answer = rumpus("check", run.path / named, *json)
    assert answer.code == 2
    assert f"{run.record}: is gone, and {SEAL} says that it was there" in answer.err
    assert rumpus("check", run.path / named, "--workload", "lock").code == 2
    copy = run.path.parent / "history.jsonl"
    copy.write_bytes(run.history.read_bytes())
    assert rumpus("check", copy, "--workload", "lock", *json).code == 3


def test_many_changes_are_counted(recorded_run):
    run = recorded_run(turns())
    for number in range(9):
        (run.path / f"new{number}").write_text("")
    (reason, *_) = judge_run(run)[2].reasons
    assert "new4 has come since" in reason
    assert "and 4 more" in reason


@pytest.mark.parametrize(("recorded", "expected"), [(turns, "unknown"), (broken, "violation")])
def test_without_its_seal_only_what_the_history_shows_stands(recorded_run, recorded, expected):
    run = recorded_run(recorded())
    (run.path / SEAL).unlink()
    assert outcome(run) == expected


def test_a_history_without_its_end_is_never_valid(recorded_run):
    run = recorded_run(turns())
    lines = run.history.read_text().splitlines(keepends=True)
    assert '"f":"end"' in lines[-1]
    run.history.write_text("".join(lines[:-1]))
    run.seal()
    assert outcome(run) == "unknown"
    assert any("it has no end" in reason for reason in judge_run(run)[2].reasons)


def resealed(run, **promises):
    """As somebody would do it who makes the seal again."""
    document = json.loads(run.record.read_text())
    argv = ["rumpus", "run", "lock", "--recipe", "fair"]
    rewritten(run, recipe="fair", argv=argv, promises={**document["promises"], **promises})
    run.seal()
    return judge_run(run)[2]


def test_promises_are_the_recipes_whatever_the_run_says(recorded_run):
    verdict = resealed(recorded_run(broken()), prevents=[])
    assert verdict.outcome == "unknown"
    (reason,) = [reason for reason in verdict.reasons if reason.startswith("promises")]
    assert "(deadlock is missing, disconnected-belief is missing, " in reason


def test_a_run_cannot_be_held_to_what_its_recipe_does_not_promise(recorded_run):
    run = recorded_run(turns())
    promised = sorted({*FairLock.promises.prevents, "fenced"})
    assert resealed(run, prevents=promised, wakeups=1).outcome == "unknown"
    assert "fenced is added" in str(judge_run(run)[2].reasons)


def test_what_run_and_recipe_both_prevent_can_be_broken(recorded_run):
    promised = sorted(FairLock.promises.prevents - {"herd"})
    assert resealed(recorded_run(broken()), prevents=promised).outcome == "violation"
