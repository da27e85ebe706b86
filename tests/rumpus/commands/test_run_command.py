"""Runs on real servers, in processes of their own, as users start, stop and lose them."""

import json
import os
import re
import resource
import signal
import uuid

import pytest

from rumpus.harness.docker.leftovers import labels
from rumpus.results.history_file import read_history
from tests.rumpus.conftest import killed, latest, paused, removed, unplugged

pytestmark = pytest.mark.docker
ONE = ["--nodes", 1]
"""Where the number of servers does not matter: they take most of the time."""

FULL = pytest.mark.skipif("RUMPUS_FULL_CHECKS" not in os.environ, reason="make test-full runs all")

PLAN = {
    "version": 1,
    "entries": [  # the first lasts for longer than the status line takes to come again
        {"at": 0.5, "kind": "client-pause", "targets": {"role": "holder"}, "duration": 6.5},
        {"at": 8, "kind": "kill", "targets": {"names": ["n1"]}, "duration": 3},
    ],
}
LONG_PAUSE = {
    "version": 1,
    "entries": [{"at": 1, "kind": "client-pause", "targets": {"names": ["c1"]}, "duration": 50}],
}


@pytest.fixture
def plan(tmp_path):
    def write(document):
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(document))
        return path

    return write


def kept(run):
    """How many operations ended well, counted line by line in the file: none may be lost."""
    *lines, _ = run.history.read_text().split("\n")  # what follows the last line end was cut
    ops = map(json.loads, lines)
    number = sum(each["type"] == "ok" and isinstance(each["process"], int) for each in ops)
    assert number
    return number


def ended_cleanly(program, runs, on_engine):
    """Nothing of it is left but its directory, which is given back."""
    assert program.living() == {}
    run = latest(runs)
    assert on_engine(run.read_record().run) == []
    return run


def test_a_run_from_start_to_report(rumpus, program, runs, plan, on_engine):
    words = ["lock", "--clients", 3, "--time-limit", 12, "--plan", plan(PLAN), "--runs", runs]
    started = program("run", *words, "--json")
    answer = started.end()
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    run = ended_cleanly(started, runs, on_engine)
    assert (document["valid"], document["exit_code"]) == (True, 0)
    assert document["run"] == str(run.path)
    assert document["seed"] == run.read_record().seed
    assert [document[key] for key in ("workload", "recipe", "ensemble")] == [
        "lock",
        "fair",
        "docker",
    ]
    assert {(each["kind"], each["count"], each["verified"]) for each in document["faults"]} == {
        ("client-pause", 1, 1),
        ("kill", 1, 1),
    }
    assert not any(each["promised"] for each in document["anomalies"])
    assert document["ops"]["ok"] == kept(run)
    assert document["complete"]

    for step in ("starting 3 servers", "load for 12 s", "healing", "final phase", "gathering logs"):
        assert started.said(step)
    assert re.search(
        r"ok \d+ \(\d+/s\)  fail \d+  info \d+  leader n\d  holder (-|c\d)  "
        r"faults: client-pause c\d",
        answer.err,
    )
    assert f"report:     {run.report}" in answer.err
    for file in (run.report, run.junit, run.summary, run.plan, run.harness_log):
        assert file.exists()
    for node in ("n1", "n2", "n3"):
        assert (run.nodes / node / "node.log").stat().st_size
        assert list((run.nodes / node / "version-2").glob("log.*"))
    walks = [op.value for op in run.read_history().events("control", "walk")]
    assert [(walk["node"], walk["error"]) for walk in walks] == [
        (node, None) for node in ("n1", "n2", "n3")
    ]
    assert len({walk["znodes"] for walk in walks}) == 1
    assert walks[0]["znodes"] >= 3  # the root, the servers' own, the lock's

    again = rumpus("check", run.path, "--json")
    assert again.code == 0
    assert json.loads(again.out) == document


def test_a_faulty_recipe_is_found(program, runs, on_engine):
    words = ["lock", *ONE, "--recipe", "watch-first", "--nemesis", "none", "--time-limit", 4]
    started = program("run", *words, "--runs", runs, "--json")
    answer = started.end()
    assert answer.code == 1, answer.err
    document = json.loads(answer.out)
    assert (document["valid"], document["exit_code"]) == (False, 1)
    broken = {each["kind"] for each in document["anomalies"] if each["promised"]}
    assert "split-brain" in broken
    assert "Violation: the recipe broke a promise" in answer.err
    ended_cleanly(started, runs, on_engine)


def test_interrupted_while_servers_start(program, runs, on_engine):
    started = program("run", "lock", "--runs", runs, "--json")
    started.await_words("starting 3 servers")
    started.interrupt()
    answer = started.end()
    assert answer.code == 3, answer.err
    document = json.loads(answer.out)
    assert document["reasons"][0] == "the run was interrupted"
    assert not started.said("load for")
    assert ended_cleanly(started, runs, on_engine).report.exists()


def test_interrupted_under_load_with_a_fault_in_force(rumpus, program, runs, plan, on_engine):
    words = ["lock", "--plan", plan(LONG_PAUSE), "--time-limit", 60, "--runs", runs, "--json"]
    started = program("run", *words, *ONE)
    started.await_words("faults: client-pause c1")
    started.interrupt()
    started.await_words("interrupted: healing")
    started.interrupt()
    answer = started.end()
    assert answer.code == 3, answer.err
    assert started.said("already ending")
    document = json.loads(answer.out)
    assert (document["exit_code"], document["complete"]) == (3, True)
    assert document["faults"] == [{"kind": "client-pause", "count": 1, "verified": 1}]
    run = ended_cleanly(started, runs, on_engine)
    assert document["ops"]["ok"] == kept(run)
    assert run.report.exists()
    assert rumpus("check", run.path).code == 3


@FULL
def test_a_violation_seen_before_the_interruption_stands(program, runs, on_engine):
    words = ["lock", "--recipe", "watch-first", "--nemesis", "none", "--runs", runs, "--json"]
    started = program("run", *words, *ONE)
    started.await_words(r"ok [1-9]\d\d")
    started.interrupt()
    answer = started.end()
    assert (answer.code, json.loads(answer.out)["exit_code"]) == (1, 1), answer.err
    ended_cleanly(started, runs, on_engine)


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("final phase", signal.SIGINT),
        pytest.param("gathering logs", signal.SIGTERM, marks=FULL),
    ],
)
def test_interrupted_after_the_load(program, runs, on_engine, words, number):
    run = ["lock", *ONE, "--nemesis", "none", "--time-limit", 2]
    started = program("run", *run, "--runs", runs, "--json")
    started.await_words(words)
    started.interrupt(number)
    answer = started.end()
    assert answer.code == 3, answer.err
    document = json.loads(answer.out)
    assert (document["exit_code"], document["reasons"][0]) == (3, "the run was interrupted")
    ended_cleanly(started, runs, on_engine)


def test_killed_under_load(rumpus, program, runs, plan, on_engine, engine, eventually):
    document = {"version": 1, "entries": [*LONG_PAUSE["entries"], PLAN["entries"][0] | {"at": 8}]}
    started = program("run", "lock", "--plan", plan(document), "--runs", runs)
    started.await_words("faults: client-pause c1")
    assert (
        len([each for each in started.living().values() if "rumpus.harness.clients.worker" in each])
        == 5
    )
    started.process.kill()
    eventually(lambda: not started.living(), within=5)
    started.end()

    run = latest(runs)
    run_id = run.read_record().run
    answer = rumpus("check", run.path, "--json")
    assert answer.code == 3, answer.err
    judged = json.loads(answer.out)
    assert not any(each["promised"] for each in judged["anomalies"])
    assert judged["complete"] is False
    assert judged["ops"]["ok"] == kept(run)

    assert len(on_engine(run_id)) == 7
    alive = f"alive-{uuid.uuid4().hex[:8]}"
    network = engine.networks.create(f"rumpus-{alive}", labels=labels(alive))
    try:
        answer = rumpus("clean")
        assert answer.code == 0
        assert f"removed run {run_id}: 6 containers and 1 network" in answer.out
        assert alive not in answer.out
        assert on_engine(run_id) == []
        assert on_engine(alive) == [network.name]
    finally:
        network.remove()


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        pytest.param(paused, 0, marks=FULL),
        (killed, 0),
        pytest.param(removed, 3, marks=FULL),
        pytest.param(unplugged, 3, marks=FULL),
    ],
)
def test_what_somebody_else_does_to_a_server_is_recorded_and_counts(
    rumpus, program, runs, on_engine, engine, eventually, deed, code
):
    words = ["lock", "--clients", 3, "--nemesis", "none", "--time-limit", 5]
    started = program("run", *words, "--runs", runs, "--json")
    started.await_words("load for")
    eventually(lambda: len(read_history(latest(runs).history)) > 100, within=10)
    deed(engine, latest(runs).read_record().run)
    answer = started.end()
    assert answer.code == code, answer.err
    document = json.loads(answer.out)
    assert document["faults"] == [{"kind": "outside", "count": 1, "verified": int(code == 0)}]
    assert not document["anomalies"]
    run = ended_cleanly(started, runs, on_engine)
    (seen, *over) = read_history(run.history).events("control", "outside")
    assert (seen.value["target"], bool(over)) == ("n2", code == 0)
    again = rumpus("check", run.path, "--json")
    assert (again.code, json.loads(again.out)) == (code, document)


def limited_files():
    """No file can grow beyond 40 kB: the disk is full, for this process and its children."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_a_full_disk(rumpus, program, runs, on_engine):
    words = ["lock", *ONE, "--nemesis", "none", "--runs", runs, "--json"]
    started = program("run", *words, preexec_fn=limited_files)
    answer = started.end()
    assert (answer.code, json.loads(answer.out)["exit_code"]) == (4, 4), answer.err
    assert "history.jsonl: cannot write the history (File too large)" in answer.err
    assert "ulimit -f" in answer.err
    assert "Traceback" not in answer.err
    run = ended_cleanly(started, runs, on_engine)
    assert len(read_history(run.history)) > 20
    assert rumpus("check", run.path).code == 3


def test_a_place_for_runs_that_cannot_be(rumpus, tmp_path):
    place = tmp_path / "file"
    place.write_text("in the way")
    answer = rumpus("run", "lock", "--runs", place / "runs", "--json")
    assert (answer.code, json.loads(answer.out)["exit_code"]) == (4, 4)
    assert f"{place / 'runs'}" in answer.err
    assert "use --runs DIR" in answer.err


def test_an_image_that_is_nowhere(rumpus, runs):
    answer = rumpus("run", "lock", "--image", "localhost:1/rumpus/none:1", "--runs", runs)
    assert answer.code == 4
    assert "localhost:1/rumpus/none:1 is not on this engine and cannot be pulled" in answer.err
    assert not runs.exists()


@FULL
def test_servers_of_another_version_are_upgraded_under_load(rumpus, runs, plan):
    upgrade = {
        "at": 2,
        "kind": "rolling-upgrade",
        "targets": {"role": "all"},
        "duration": 1,
        "options": {"to": "3.9"},
    }
    path = plan({"version": 1, "entries": [upgrade]})
    words = ["run", "lock", "--zookeeper", "3.8", "--plan", path, "--time-limit", 20]
    answer = rumpus(*words, "--runs", runs, "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["outcome"]) == (0, "valid"), document["reasons"]
    assert document["versions"]["zookeeper"].startswith("rumpus/zookeeper:3.8.0-")
    (fault,) = document["faults"]
    assert (fault["kind"], fault["verified"]) == ("rolling-upgrade", 1)


@FULL
def test_what_servers_of_3_4_do_not_know_is_told(rumpus, runs):
    words = ["run", "lock", *ONE, "--zookeeper", "3.4", "--nemesis", "none", "--time-limit", 3]
    answer = rumpus(*words, "--runs", runs, "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["outcome"]) == (3, "unknown")
    assert "a request that the servers do not know" in document["reasons"][0]
    kazoo = rumpus(*words, "--recipe", "kazoo", "--runs", runs, "--json")
    assert (kazoo.code, json.loads(kazoo.out)["outcome"]) == (0, "valid")
