import json
from dataclasses import replace

import pytest

from rumpus.campaigns import reproducing, shrinking
from rumpus.campaigns.trial_task import TrialTask
from rumpus.command_line import main
from rumpus.results.seal import seal
from tests.rumpus.campaigns.conftest import deadlocked
from tests.sampling import one_in


@pytest.fixture
def failed_run(tmp_path):
    return deadlocked(tmp_path)


def test_a_reproduced_failure_becomes_a_case_that_shows_it(
    failed_run, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(shrinking, "PASSES", [shrinking._few_faults])  # the others take long
    path = tmp_path / "out.case.json"
    words = ["reproduce", str(failed_run), "-o", str(path), "--jobs", "1", "--tries", "20"]
    words += ["--anomaly", "deadlock"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["reproduced"] is True
    assert told["wanted"] == "deadlock of acquire"
    assert told["faults"] == ["pause"]
    assert told["case"] == str(path)
    assert main(["replay", str(path)]) == 1
    assert "reproduced" in capsys.readouterr().out


@one_in(2)
def test_a_failure_that_is_not_seen_again_is_said_and_left_open(failed_run, monkeypatch, capsys):
    def sound(lifted):
        while True:
            yield TrialTask(settings=replace(lifted.settings, recipe="fair"), plan=lifted.plan)

    monkeypatch.setattr(reproducing, "runs_around", sound)
    capsys.readouterr()
    words = ["reproduce", str(failed_run), "--jobs", "1", "--tries", "2"]
    assert main(words) == 3
    told = capsys.readouterr()
    assert "not reproduced in 2 runs of the simulation" in told.out
    assert "this does not clear the recipe" in told.out
    assert main([*words, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["reproduced"] == "unknown"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at": 1e308}, 'field "at" is 1e+308; it is not from 0 to'),
        ({"kind": "nope"}, 'field "kind" is "nope"; allowed are'),
        ({"duration": -1.0}, 'field "duration" is -1'),
        ({"targets": {"names": ["n99"]}}, "n99"),
    ],
)
def test_a_run_whose_plan_could_not_be_performed_is_refused(failed_run, changes, said, capsys):
    record = json.loads((failed_run / "test.json").read_text())
    record["plan"]["entries"][0] |= changes
    (failed_run / "test.json").write_text(json.dumps(record))
    seal(failed_run)
    assert main(["reproduce", str(failed_run), "--tries", "1", "--shrink", "0"]) == 2
    told = capsys.readouterr().err
    assert "the plan in the run's description is none: its plan: entry " in told
    assert said in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{run}/results.json"], "no directory of a run"),
        (["{run}", "--anomaly", "herd"], "no anomaly 'herd'; it has"),
        (["{run}/nothing"], "no directory of a run"),
    ],
)
def test_what_cannot_be_lifted_is_refused(failed_run, words, said, capsys):
    assert main(["reproduce", *(word.format(run=failed_run) for word in words)]) == 2
    assert said in capsys.readouterr().err
