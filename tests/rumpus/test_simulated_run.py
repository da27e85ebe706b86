"""``rumpus run`` without Docker: simulated servers, in this process or in one of its own."""

import json
import signal

import pytest

from rumpus.simulation.kernel.preemption import MODES, mode_of_seed
from tests.rumpus.conftest import latest
from tests.sampling import one_in

pytestmark = pytest.mark.usefixtures("no_engine")

SHORT = ["lock", "--clients", 3, "--time-limit", 8]
SHORT += ["--nemesis", "kill,client-pause", "--seed", 3]


def test_without_an_engine_the_servers_are_simulated_and_it_says_so(rumpus, tmp_path):
    answer = rumpus("run", *SHORT, "--json", "--runs", tmp_path)
    said = " ".join(answer.err.split())
    assert answer.code == 0, answer
    assert "ensemble: sim (no Docker engine answers at unix:///nonexistent/docker.sock" in said
    document = json.loads(answer.out)
    record = latest(tmp_path).read_record()
    assert document["ensemble"] == record.ensemble == "sim"
    assert document["digest"] == record.digest
    assert len(document["digest"]) == 32
    assert 8 < document["virtual_seconds"] == record.virtual_seconds
    mode = mode_of_seed(3)
    assert record.options["preemption"] == mode
    assert record.command_line().endswith(f"--ensemble sim --preemption {mode}")
    assert latest(tmp_path).report.exists()


def test_the_digest_can_be_had_again(rumpus, tmp_path):
    words = ["run", *SHORT, "--time-limit", 3, "--ensemble", "sim", "--json"]
    first, again = (
        json.loads(rumpus(*words, "--runs", tmp_path / name).out) for name in ("one", "two")
    )
    assert first["digest"] == again["digest"]
    other = rumpus(*words, "--seed", 4, "--runs", tmp_path / "three")
    assert json.loads(other.out)["digest"] != first["digest"]


@one_in(2)
def test_the_schedule_of_the_seed_can_be_asked_for_by_name_and_so_can_others(rumpus, tmp_path):
    words = ["run", *SHORT, "--time-limit", 3, "--ensemble", "sim", "--json"]

    def run(mode):
        answer = rumpus(*words, "--preemption", mode, "--runs", tmp_path / mode)
        record = latest(tmp_path / mode).read_record()
        return record.options["preemption"], json.loads(answer.out)["digest"]

    by_name = {mode: run(mode) for mode in MODES}
    assert {mode: noted for mode, (noted, _) in by_name.items()} == {mode: mode for mode in MODES}
    assert len({digest for _, digest in by_name.values()}) == len(MODES)
    assert run("auto") == by_name[mode_of_seed(3)]


def test_the_schedule_of_real_threads_cannot_be_chosen(rumpus, tmp_path):
    answer = rumpus(
        "run", *SHORT, "--ensemble", "docker", "--preemption", "lines", "--runs", tmp_path / "runs"
    )
    assert answer.code == 2
    assert "--preemption lines is for simulated runs" in " ".join(answer.err.split())
    assert not (tmp_path / "runs").exists()


def test_checked_again_it_is_the_same_judgement(rumpus, tmp_path):
    ran = json.loads(rumpus("run", *SHORT, "--time-limit", 3, "--json", "--runs", tmp_path).out)
    checked = json.loads(rumpus("check", tmp_path / "latest", "--json").out)
    for key in ("valid", "digest", "virtual_seconds", "anomalies", "requirements"):
        assert checked[key] == ran[key]


def test_a_run_that_is_interrupted_comes_to_an_orderly_end(program, tmp_path):
    started = program("run", "lock", "--ensemble", "sim", "--time-limit", 600, "--runs", tmp_path)
    started.await_words("load for 600 s")
    started.interrupt(signal.SIGINT)
    answer = started.end()
    assert answer.code == 3, answer
    assert started.said("interrupted: healing")
    assert latest(tmp_path).read_record().interrupted
    assert started.living() == {}


STAGGERED = {
    "version": 1,
    "punctual": True,
    "entries": [
        {"id": 1, "at": 1, "kind": "kill", "targets": {"names": ["n5"]}, "duration": 3},
        {"id": 2, "at": 1.1, "kind": "kill", "targets": {"names": ["n4"]}, "duration": 9},
        {"id": 3, "at": 6, "kind": "kill", "targets": {"role": "leader"}, "duration": 6},
    ],
}
"""Two followers miss different stretches, then the leader goes: ZOOKEEPER-4925."""


@pytest.mark.parametrize("family", ["append", "lock"])
def test_what_a_server_lacks_is_a_violation_of_the_servers_in_every_family(
    rumpus, tmp_path, family
):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(STAGGERED))
    words = ["run", family, "--ensemble", "sim", "--nodes", 5, "--clients", 3, "--time-limit", 16]
    words += ["--usage", "think=0.3", "--plan", plan, "--seed", 1, "--json", "--runs", tmp_path]
    answer = rumpus(*words, "--server-mutant", "discontinuous-committed-log")
    document = json.loads(answer.out)
    assert (answer.code, document["blamed"]) == (1, "servers")
    (loss,) = [each for each in document["anomalies"] if each["kind"] == "lost-transaction"]
    assert loss["promised"]
    assert "n4 never got" in document["story"][0]
    sound = json.loads(rumpus(*words).out)
    kinds = {each["kind"] for each in sound["anomalies"]}
    assert not kinds & {"lost-transaction", "diverged-servers", "latent-divergence"}
    (servers,) = [each for each in sound["checks"] if each["name"] == "servers"]
    assert servers["stats"] == {"compared": 5, "not_compared": []}


def test_mutant_servers_are_blamed_and_no_recipe(rumpus, tmp_path):
    words = ["run", "sequence", "--time-limit", 2, "--nemesis", "none", "--seed", 1]
    words += ["--server-mutant", "repeated-sequence", "--ensemble", "sim", "--runs", tmp_path]
    answer = rumpus(*words, "--json")
    assert answer.code == 1, answer.err
    assert "mutant servers, repeated-sequence: they number" in " ".join(answer.err.split())
    assert "Violation: the servers broke a promise of ZooKeeper" in answer.err
    document = json.loads(answer.out)
    assert document["blamed"] == "servers"
    assert "duplicate-sequence" in {each["kind"] for each in document["anomalies"]}
    run = latest(tmp_path)
    assert run.read_record().options["server_mutant"] == "repeated-sequence"
    assert "(mutants: <strong>repeated-sequence</strong>)" in run.report.read_text()
    assert rumpus("check", run.path).code == 1


def test_mutant_servers_that_there_are_not(rumpus, tmp_path):
    words = ["run", "lock", "--runs", tmp_path, "--server-mutant"]
    for name, meant in (("forgetful", "did you mean forgetful-set-watches?"), ("x", "there are ")):
        unknown = rumpus(*words, name, "--ensemble", "sim")
        assert unknown.code == 2
        assert f"unknown server mutant '{name}'; {meant}" in unknown.err
    real = rumpus(*words, "lost-events", "--ensemble", "docker")
    assert real.code == 2
    assert "--server-mutant lost-events is for simulated servers" in " ".join(real.err.split())
