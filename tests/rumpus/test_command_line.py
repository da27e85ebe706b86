"""Arguments and errors: what exists is named, the exit code is right, there is no traceback."""

import argparse
import json

import pytest

from rumpus.argument_types import seconds
from rumpus.commands import list_command
from rumpus.harness.clients.workers import WorkerCrash
from rumpus.harness.ensemble import EnvironmentRefusal
from rumpus.nemesis.registry import FAULTS
from rumpus.recipes.catalogue_entry import sound
from rumpus.version import __version__
from rumpus.workloads.registry import WORKLOADS

pytestmark = pytest.mark.usefixtures("no_engine")  # nothing here comes as far as to need one


def refused(answer, code, *words):
    said = " ".join(answer.err.split())
    assert answer.code == code, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    for word in words:
        assert word in said
    return said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], ["name a command"]),
        (["walk"], ["'walk'", "run", "list", "check", "doctor", "clean", "sim-server"]),
        (["run"], ["WORKLOAD"]),
        (["run", "teapot"], ["unknown workload 'teapot'", *WORKLOADS]),
        (
            ["run", "lock", "--recipe", "magic"],
            ["'magic'", "fair", "with a known mistake"],
        ),
        (["run", "election", "--recipe", "no-lookup"], ["'no-lookup'", "it is a recipe of lock"]),
        (["run", "lock", "--nemesis", "kill,gremlin"], ["unknown fault 'gremlin'", *FAULTS]),
        (["run", "lock", "--nemesis", "none,kill"], ["'none' stands by itself"]),
        (["run", "lock", "--nemesis", ""], ["it is empty", "none", *FAULTS]),
        (["run", "lock", "--nemesis", "kill,"], ["unknown fault ''"]),
        (["run", "lock", "--ensemble", "cloud"], ["'cloud'", "docker"]),
        (["run", "lock", "--nodes", "three"], ["--nodes", "'three' is not a whole number"]),
        (["run", "lock", "--nodes", "0"], ["0 is not from 1 to 9"]),
        (["run", "lock", "--clients", "301"], ["301 is not from 1 to 300"]),
        (["run", "lock", "--time-limit", "soon"], ["'soon' is not a number of seconds"]),
        (["run", "lock", "--time-limit", "nan"], ["nan is not from"]),
        (["run", "lock", "--time-limit", "-1"], ["-1 is not from"]),
        (["run", "lock", "--time-limit", "inf"], ["inf is not from"]),
        (["run", "lock", "--time-limit", "2"], ["kinds of fault need at least", "not 2 s"]),
        (["run", "lock", "--nemesis-interval", "0"], ["0 is not from"]),
        (["run", "lock", "--session-timeout", "0.5"], ["0.5 is not from 1 to 10 seconds"]),
        (["run", "lock", "--seed", "x"], ["--seed", "'x'"]),
        (["run", "lock", "--image", " "], ["--image", "it is empty"]),
        (["run", "lock", "--nodes", "1"], ["a single server has no followers"]),
        (["run", "lock", "--time", "5"], ["--time"]),
        (["check"], ["RUN_OR_HISTORY"]),
        (["list", "--yaml"], ["--yaml"]),
    ],
)
def test_wrong_usage(rumpus, words, named):
    refused(rumpus(*words), 2, *named)


@pytest.mark.parametrize(
    ("text", "wanted"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("1e2s", 100)]
)
def test_times_may_have_a_unit(text, wanted):
    assert seconds()(text) == wanted


@pytest.mark.parametrize("text", ["s", "", "5ms", "5 minutes", "nans", "-1s", "9999h"])
def test_times_that_are_none_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        seconds()(text)


def test_help_and_version(rumpus):
    answer = rumpus("--help")
    assert answer.code == 0
    assert "4 this host does not allow it" in " ".join(answer.out.split())
    for command in ("run", "list", "check", "doctor", "clean", "sim-server", "conformance"):
        assert rumpus(command, "--help").code == 0
    assert rumpus("--version").out == f"rumpus {__version__}\n"


def entry(**more):
    return {"at": 1, "kind": "kill", "targets": {"role": "leader"}, "duration": 2} | more


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ("{", ["not a JSON document"]),
        ("[]", ["an object with"]),
        ({"entries": []}, ['"version" is missing', "version 1"]),
        ({"version": 2}, ['"version" is 2']),
        ({"version": 1, "entries": 5}, ["entries"]),
        ({"version": 1, "entries": [5]}, ["entry 1"]),
        ({"version": 1, "entries": [entry(kind="gremlin")]}, ["entry 1", "gremlin", "client-kill"]),
        ({"version": 1, "entries": [entry(at=-1)]}, ["entry 1", '"at" is -1']),
        ({"version": 1, "entries": [entry(at=60)]}, ["after the load has ended"]),
        ({"version": 1, "entries": [entry(at="soon")]}, ["entry 1", '"at"']),
        ({"version": 1, "entries": [entry(duration=0)]}, ['"duration" is 0']),
        ({"version": 1, "entries": [entry(targets={})]}, ["exactly one of names, role"]),
        ({"version": 1, "entries": [entry(targets={"role": "king"})]}, ["king", "leader"]),
        ({"version": 1, "entries": [entry(targets={"names": ["n9"]})]}, ["n9", "n1, n2, n3"]),
        ({"version": 1, "entries": [entry(whom="n1")]}, ["`whom`", "the fields are"]),
        ({"version": 1, "entries": [entry(options={"how": "reset"})]}, ["it takes none"]),
        ({"version": 1, "entries": [entry(id=1), entry(id=1, at=9)]}, ["used by an earlier"]),
        ({"version": 1, "entries": [entry(), entry(at=2)]}, ["entries 1 and 2 conflict"]),
    ],
)
def test_malformed_plan(rumpus, tmp_path, plan, named):
    file = tmp_path / "plan.json"
    file.write_text(plan if isinstance(plan, str) else json.dumps(plan))
    refused(rumpus("run", "lock", "--plan", file), 2, str(file), *named)


def test_a_plan_that_is_not_there(rumpus, tmp_path):
    file = tmp_path / "plan.json"
    refused(rumpus("run", "lock", "--plan", file), 2, str(file), "No such file")


def test_a_plan_excludes_chance(rumpus, tmp_path):
    answer = rumpus("run", "lock", "--plan", tmp_path / "plan.json", "--nemesis", "kill")
    refused(answer, 2, "--plan and --nemesis exclude each other")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--shared os,six", "--shared: 'os' is of Python's library, which is loaded anew"),
        ("--shared six,rumpus", "--shared: 'rumpus' is of rumpus, which is loaded anew"),
        ("--shared kazoo", "--shared: 'kazoo' is loaded anew for each client; leave it out"),
        ("--private os", "--private: 'os' is of Python's library, which is loaded anew"),
        ("--private six.moves", "--private: 'six.moves' is no name of a top-level package; give"),
        ("--shared six --private six", "--shared: six is private, too: choose one"),
    ],
)
def test_packages_that_cannot_be_private_or_shared(rumpus, words, why):
    refused(rumpus("run", "lock", "--ensemble", "sim", *words.split()), 2, why)


def test_fencing_needs_tokens(rumpus, monkeypatch):
    recipe = WORKLOADS["lock"].recipes["fair"]
    tokenless = type("Tokenless", (recipe,), {})
    tokenless.promises = type(recipe.promises)(prevents=frozenset(), tokens=False)
    monkeypatch.setitem(WORKLOADS["lock"].catalogue, "tokenless", sound(tokenless))
    answer = rumpus("run", "lock", "--recipe", "tokenless", "--fencing")
    refused(answer, 2, "tokenless", "no fencing tokens")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("queue --action-time 1", "no actions whose time can be chosen"),
        ("lock --recipe validity --guard 1", "requires --action-time"),
        ("lock --recipe fair --action-time 1 --guard 1", "does not know for how long it holds"),
    ],
)
def test_the_time_of_actions_is_for_those_that_have_it(rumpus, words, why):
    refused(rumpus("run", *words.split()), 2, why)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--zookeeper", "3.7"], "there is no ZooKeeper '3.7'"),
        (["--zookeeper", "3.4", "--image", "x"], "leave one out"),
        (
            ["--zookeeper", "3.4", "--ensemble", "sim"],
            "simulated servers behave as ZooKeeper 3.8.0",
        ),
        (["--zookeeper", "3.4", "--recipe", "etcd"], "it takes no --zookeeper"),
    ],
)
def test_a_version_of_zookeeper_that_a_run_cannot_have(rumpus, words, said):
    answer = rumpus("run", "lock", *words)
    assert answer.code == 2
    assert said in answer.err


def test_simulated_servers_are_not_upgraded(rumpus):
    answer = rumpus("run", "lock", "--ensemble", "sim", "--nemesis", "rolling-upgrade")
    assert answer.code == 4
    assert "rolling-upgrade: simulated servers all behave as ZooKeeper 3.8.0" in answer.err


def test_simulated_servers_have_no_image(rumpus):
    answer = rumpus("run", "lock", "--ensemble", "sim", "--image", "zookeeper:3.9")
    refused(answer, 2, "zookeeper:3.9", "--ensemble docker")


def test_docker_does_not_offer_what_only_simulated_machines_suffer(rumpus, tmp_path):
    words = ["run", "lock", "--ensemble", "docker", "--nemesis", "all", "--runs", tmp_path / "runs"]
    assert rumpus(*words).code == 4


@pytest.mark.parametrize(
    "words",
    [
        ["run", "lock", "--ensemble", "docker"],
        ["run", "lock", "--image", "zookeeper:3.9"],
        ["clean"],
    ],
)
def test_without_an_engine(rumpus, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    refused(rumpus(*words), 4, "no Docker engine", "/nonexistent/docker.sock", "start it")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_engine")
def test_a_refusal_is_a_document_too(rumpus, tmp_path):
    answer = rumpus("run", "lock", "--ensemble", "docker", "--runs", tmp_path, "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["exit_code"], document["valid"]) == (4, 4, "unknown")
    assert "no Docker engine" in document["reasons"][0]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (EnvironmentRefusal("no room: make some"), 4, ["rumpus: no room: make some"]),
        (WorkerCrash("client c1 ended; see its log"), 5, ["client c1 ended; see its log"]),
        (ZeroDivisionError("by zero"), 5, ["by zero", "a defect of rumpus (ZeroDivisionError)"]),
        (KeyboardInterrupt(), 3, ["interrupted"]),
    ],
)
def test_traces_are_shown_on_request_only(rumpus, monkeypatch, error, code, words):
    def fail(_arguments):
        raise error

    monkeypatch.setattr(list_command, "list_command", fail)
    refused(rumpus("list"), code, *words)
    answer = rumpus("list", "-v")
    assert answer.code == code
    assert ("Traceback" in answer.err) is not isinstance(error, KeyboardInterrupt)
    assert answer.out == ""


def test_long_messages_stay_in_one_line(rumpus, tmp_path):
    path = tmp_path / ("long" * 30) / ("name" * 30)
    assert str(path) in rumpus("check", path).err
