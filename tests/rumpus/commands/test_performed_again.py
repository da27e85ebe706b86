"""A simulated run is performed again, and its digest shows whether its files are true."""

import json
import shutil

import pytest

from rumpus.command_line import main
from rumpus.results.run_directory import RunDirectory
from rumpus.simulation.kernel import watchdog
from tests.torture.histories_changed import operations, recounted, without_operations


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    runs = tmp_path_factory.mktemp("sound")
    words = "run lock --recipe fair --ensemble sim --seed 1 --time-limit 6"
    words += " --nemesis client-kill,client-pause"
    assert main([*words.split(), "--runs", str(runs)]) == 0
    return (runs / "latest").resolve()


@pytest.fixture
def claimed(sound, tmp_path):
    """The whole directory of a sound run, under the name of a recipe that is not."""
    shutil.copytree(sound, tmp_path / "claimed")
    run = RunDirectory(tmp_path / "claimed")
    first, *rest = run.history.read_text().splitlines(keepends=True)
    for record in (
        (test := json.loads(first))["value"],
        told := json.loads(run.record.read_text()),
    ):
        record["recipe"] = "persistent-node"
    told["argv"] = ["persistent-node" if word == "fair" else word for word in told["argv"]]
    run.history.write_text("".join([json.dumps(test) + "\n", *rest]))
    run.record.write_text(json.dumps(told))
    run.seal()
    return run.path


def test_a_run_without_anomalies_is_replayed(sound, capsys):
    assert main(["replay", str(sound), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    digest = json.loads((sound / "test.json").read_text())["digest"]
    assert told["verdict"] == f"performed again: same digest {digest}"
    assert (told["same_run"], told["anomaly"]) == (True, None)


def test_what_was_inconclusive_is_so_again(tmp_path, capsys):
    """Its faults were drawn to have effects; they are given when it is performed again."""
    words = "run lock --recipe fair --ensemble sim --seed 3 --clients 2 --nodes 3 --time-limit 3"
    words += " --nemesis kill,client-pause"
    assert main([*words.split(), "--runs", str(tmp_path)]) == 3
    run = str((tmp_path / "latest").resolve())
    assert main(["check", run, "--perform"]) == 3
    assert "performed again: same digest" in capsys.readouterr().err
    assert main(["replay", run]) == 0
    assert "inconclusive, as it was" in capsys.readouterr().out


def test_a_run_without_anomalies_has_its_report_already(sound, tmp_path, capsys):
    assert main(["replay", str(sound), "--report", str(tmp_path / "new.html")]) == 2
    assert "nothing went wrong in" in capsys.readouterr().err
    assert not (tmp_path / "new.html").exists()


def test_check_says_that_a_run_may_be_performed_again_and_that_it_was(sound, capsys):
    assert main(["check", str(sound), "--believe"]) == 0
    assert "not performed again (--perform" in capsys.readouterr().err
    assert main(["check", str(sound), "--perform", "--json"]) == 0
    printed = capsys.readouterr()
    assert "performed again: same digest" in printed.err
    assert "not performed again" not in printed.err


def test_it_has_the_time_that_it_is_given(sound, monkeypatch, capsys):
    monkeypatch.setattr(watchdog, "AGAIN_S", 0.05)
    for words in (["check", str(sound), "--perform"], ["replay", str(sound)]):
        assert main([*words, "--budget", "0.1"]) == 3
        assert "there was no more time for it (--budget gives more)" in capsys.readouterr().err
    assert main(["check", str(sound), "--budget", "1"]) == 2


def test_a_sound_run_under_the_name_of_another_recipe_is_found_out(claimed, capsys):
    assert main(["check", str(claimed)]) == 3
    assert main(["check", str(claimed), "--believe"]) == 0  # nothing in its files contradicts it
    assert main(["check", str(claimed), "--perform"]) == 3
    told = " ".join(capsys.readouterr().err.split())
    assert "performed again it was another run" in told
    assert "with the same software" in told
    assert main(["replay", str(claimed)]) in (1, 3)
    assert "performed again it was another run" in capsys.readouterr().out


def test_what_was_found_out_is_not_believed(claimed):
    assert main(["check", str(claimed), "--perform", "--believe"]) == 3
    assert main(["check", str(claimed)]) == 3


def test_what_was_taken_out_of_a_history_is_found_out(sound, tmp_path, capsys):
    """The digest stays: it is a word in another file."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    dropped = [each for each in operations(run) if each[-1]["type"] == "fail"][-1]
    assert without_operations(run, lambda each: each == dropped)
    recounted(run)
    run.seal()
    assert main(["check", str(run.path)]) == 3
    assert main(["check", str(run.path), "--believe"]) == 0  # nothing in its files contradicts it
    assert main(["check", str(run.path), "--perform"]) == 3
    told = " ".join(capsys.readouterr().err.split())
    assert f"same digest, but another record {dropped[0]['index']} of its history" in told


@pytest.mark.parametrize(("plan", "code"), [(None, 3), ({"entries": 5}, 2)])
def test_a_run_whose_plan_was_taken_is_another(sound, tmp_path, plan, code):
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    run.record.write_text(json.dumps({**json.loads(run.record.read_text()), "plan": plan}))
    run.seal()
    assert main(["check", str(run.path), "--perform"]) == code


def test_what_cannot_be_performed_again_is_said(sound, tmp_path, capsys):
    shutil.copy(sound / "history.jsonl", tmp_path / "alone.jsonl")
    assert main(["check", str(tmp_path / "alone.jsonl"), "--perform"]) == 2
    assert "a history alone cannot be performed again" in capsys.readouterr().err
    real = tmp_path / "real"
    shutil.copytree(sound, real)
    told = json.loads((real / "test.json").read_text()) | {"ensemble": "docker"}
    (real / "test.json").write_text(json.dumps(told))
    RunDirectory(real).seal()
    assert main(["check", str(real), "--perform"]) == 2
    assert "decided by more than its seed" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["kazoo", "patch"])
@pytest.mark.parametrize("words", [["replay"], ["check", "--perform"]])
def test_the_software_that_a_runs_options_name_is_not_left_out(
    sound, tmp_path, capsys, option, words
):
    """Its command line need not have it: a project's file may have asked for it."""
    run = RunDirectory(shutil.copytree(sound, tmp_path / "run"))
    change = tmp_path / "strange.diff"
    change.write_text("--- a/kazoo/client.py\n")
    told = json.loads(run.record.read_text())
    told["options"][option] = f"+{change}" if option == "kazoo" else str(change)
    run.record.write_text(json.dumps(told))
    run.seal()
    assert main([*words, str(run.path)]) == 2
    assert f"{option} {change}, from {change}. If you trust that" in capsys.readouterr().err
