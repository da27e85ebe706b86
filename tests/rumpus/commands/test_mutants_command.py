import json
from collections import Counter

import pytest

from rumpus.campaigns.mutant_hunt import Hunt, Mutant
from rumpus.commands.mutants_command import chosen, document, gaps, told
from rumpus.usage_error import UsageError
from rumpus.workloads.registry import WORKLOADS
from tests.sampling import one_in


class Brief(Mutant):
    """Runs of a few seconds."""

    def words(self, seed, kinds):
        return [*super().words(seed, kinds), "--time-limit", "8"]


def test_every_faulty_recipe_is_hunted():
    faulty = [
        (workload.name, name)
        for workload in WORKLOADS.values()
        for name, recipe in workload.catalogue.items()
        if recipe.faulty
    ]
    assert [(mutant.family, mutant.name) for mutant in chosen(None)] == faulty
    assert {mutant.family for mutant in chosen("lock")} == {"lock"}


def test_a_family_that_does_not_exist_is_named(rumpus):
    answer = rumpus("mutants", "--family", "lcok")
    assert answer.code == 2
    assert "unknown workload 'lcok'; did you mean lock?" in answer.err


def test_what_a_run_told():
    results = {
        "anomalies": [
            {"kind": "deadlock", "promised": True},
            {"kind": "stale-belief", "promised": False},
        ],
        "blamed": "servers",
    }
    answer = told(1, json.dumps(results).encode(), b"some progress")
    assert (answer.exit_code, answer.broken, answer.blamed) == (1, {"deadlock"}, "servers")
    assert told(5, b"", b"rumpus: a defect\n").words == "rumpus: a defect"


@one_in(2)
def test_a_mutant_is_caught_and_the_command_shows_it_again(rumpus, tmp_path, monkeypatch):
    one = Brief("lock", "watch-first", frozenset({"split-brain"}))
    monkeypatch.setattr("rumpus.commands.mutants_command.chosen", lambda *_, **__: [one])
    answer = rumpus("mutants", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    (first,) = found["mutants"]
    assert found["caught"] == 1
    assert "split-brain" in first["anomalies"]
    assert "1/1  lock / watch-first: caught, in 1 of 1 runs" in answer.err
    again = rumpus(*first["command"].split()[1:], "--runs", tmp_path, "--json")
    assert again.code == 1
    broken = {each["kind"] for each in json.loads(again.out)["anomalies"] if each["promised"]}
    assert broken == set(first["anomalies"])


def test_so_many_seeds_of_each(rumpus, monkeypatch):
    one = Mutant("lock", "watch-first", frozenset({"split-brain"}))
    asked = []

    def surveyed(mutant, _perform, *, seeds, first_seed):
        asked.append((seeds, first_seed))
        return Hunt(mutant, "weak", Counter({"herd": 4, "split-brain": 3}), runs=5, caught=3)

    monkeypatch.setattr("rumpus.commands.mutants_command.chosen", lambda *_, **__: [one])
    monkeypatch.setattr("rumpus.commands.mutants_command.survey", surveyed)
    answer = rumpus("mutants", "--seeds", 5, "--seed", 2)
    assert (answer.code, asked) == (1, [(5, 2)])
    assert "3 of 5" in answer.out
    assert "weak, in 3 of 5 runs, 0.0 s, by split-brain 3, herd 4" in answer.err
    both = rumpus("mutants", "--seeds", 5, "--budget", 20)
    assert both.code == 2
    assert "cannot be given beside" in both.err


@one_in(2)
def test_cases_are_made(rumpus, tmp_path, monkeypatch):
    one = Mutant("lock", "never-held", frozenset({"unbelieving-holder"}))
    monkeypatch.setattr("rumpus.commands.mutants_command.chosen", lambda *_, **__: [one])
    words = ("mutants", "--cases", tmp_path, "--jobs", 1, "--shrink", 0)
    answer = rumpus(*words)
    assert answer.code == 0, answer.err
    assert "1/1  lock / never-held: made, after " in answer.err
    assert "1 of 1 have a case; 1 of these have at most 2 faults and 3 clients" in answer.out
    (row,) = json.loads(rumpus(*words, "--json").out)["mutants"]
    assert (row["outcome"], row["clients"]) == ("kept", 3)
    assert row["case"] == str(tmp_path / "lock" / "never-held.case.json")
    assert row["anomaly"].startswith("unbelieving-holder")
    both = rumpus(*words, "--seeds", 2)
    assert both.code == 2
    assert "--cases and --seeds exclude each other" in both.err


def test_one_that_is_missed_fails_the_command(rumpus, monkeypatch):
    monkeypatch.setattr(
        "rumpus.commands.mutants_command.hunt", lambda mutant, *_, **__: Hunt(mutant)
    )
    answer = rumpus("mutants", "--family", "lock")
    assert answer.code == 1
    assert "missed" in answer.out
    assert f"0 of {len(chosen('lock'))} caught" in answer.out


def test_a_failure_is_told():
    mutant = Mutant("lock", "m", frozenset({"deadlock"}))
    (each,) = document([Hunt(mutant, "failed", words="no room", runs=1)])["mutants"]
    assert (each["outcome"], each["why"], each["command"]) == ("failed", "no room", None)


def test_ctrl_c_leaves_no_run_behind(program, eventually):
    started = program("mutants", "--family", "lock", "--jobs", 2)
    eventually(lambda: len(started.living()) >= 3)
    started.interrupt()
    assert started.end().code == 3
    assert started.living() == {}


def test_mutant_servers_are_hunted_by_the_workloads_of_plain_znodes():
    mutant, *_ = chosen("sequence", servers=True)
    assert mutant.words(7, "default") == [
        *("run", "sequence", "--recipe", "sequential", "--ensemble", "sim"),
        *("--server-mutant", "repeated-sequence", "--seed", "7"),
    ]
    assert {each.family for each in chosen(None, servers=True)} > {"sequence", "watch"}
    assert all(each.expected for each in chosen(None, servers=True))
    with pytest.raises(UsageError, match="no mutant servers that the workload lock shows"):
        chosen("lock", servers=True)


def test_gaps_are_told_and_neither_hunted_nor_counted(rumpus, monkeypatch):
    hunted = []

    def caught(mutant, *_, **__):
        hunted.append(mutant.name)
        return Hunt(mutant, "caught", runs=1, caught=1)

    monkeypatch.setattr("rumpus.commands.mutants_command.hunt", caught)
    answer = rumpus("mutants", "--servers", "--family", "ephemeral")
    assert answer.code == 0, answer.err
    left_out = gaps("ephemeral")
    assert {each.name for each in left_out} >= {"writes-after-expiry"}
    assert f"{len(hunted)} of {len(hunted)} caught" in answer.out
    assert f"not hunted, as no workload shows them: {len(left_out)}" in answer.out
    for each in left_out:
        assert each.name not in hunted
        assert f"ephemeral / {each.name}: {each.gap}" in answer.out
    found = json.loads(rumpus("mutants", "--servers", "--family", "ephemeral", "--json").out)
    assert [each["mutant"] for each in found["gaps"]] == [each.name for each in left_out]
    assert json.loads(rumpus("mutants", "--family", "ephemeral", "--json").out)["gaps"] == []
