"""Curator's recipes: what the catalogue and the worker say of each other, refusals, and runs."""

import json
import os
import re
from pathlib import Path

import pytest

from rumpus.harness.clients.messages import Acted
from rumpus.harness.docker.image import build_context
from rumpus.harness.generators.usage import Usage
from rumpus.nights.night_file import load_night_file
from rumpus.nights.subjects import on_trial
from rumpus.project_names import names_here
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.results.history_file import read_history
from rumpus.runs.applicability import IN_CONTAINERS, fitted
from rumpus.workloads.barrier import KEEPERS
from rumpus.workloads.contests.semaphore import SemaphoreWorkload
from rumpus.workloads.framework.used_client import MOMENTS_S
from rumpus.workloads.registry import WORKLOADS

ENTRIES = {
    name: (workload, entry)
    for workload in WORKLOADS.values()
    for name, entry in workload.elsewhere.items()
    if entry.client_image
}
SOUND = [name for name, (_, each) in ENTRIES.items() if not each.faulty and not each.weakness]
WEAK = [name for name, (_, each) in ENTRIES.items() if each.weakness]
STOPPED = {
    "curator-mutex": set(),
    "curator-leader-latch": set(),
    "curator-semaphore": set(),
    "curator-queue-locked": set(),
}
"""Recipes whose clients are stopped while calls are pending -> what may come of that alone."""

FAULTY = [name for name, (_, each) in ENTRIES.items() if each.faulty]

full = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not os.environ.get("RUMPUS_FULL_CHECKS"), reason="minutes: make test-full runs it"
    ),
]


def java(name):
    return Path(build_context("curator") / "worker" / f"{name}.java").read_text()


def test_the_worker_has_every_recipe_and_no_other():
    assert set(re.findall(r'"(curator-[a-z-]+)"', java("Recipes"))) == ENTRIES.keys()


def test_the_night_of_curators_recipes_has_all_of_them():
    path = Path(__file__).parents[2] / ".ci" / "curator.toml"
    found = on_trial(load_night_file(path).jobs, names_here(), path)
    assert {(each.subject.workload, each.subject.recipe) for each in found} == {
        (ENTRIES[name][0].name, name) for name in [*SOUND, *WEAK]
    }
    for each in found:
        assert fitted(each.settings, ZOOKEEPER, "curator").ensemble == "docker"


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_can_be_loaded(name):
    workload, entry = ENTRIES[name]
    recipe = workload.recipe_of(name)
    assert recipe.client_image == entry.client_image == "curator"
    assert entry.missing == "", "nothing is needed on this host"
    assert entry.expected <= recipe.promises.prevents, "a mutant breaks what it promises"
    assert bool(entry.expected) == entry.faulty


def test_the_worker_reads_only_what_the_witness_answers():
    """What has gone from the answer is null there, and each action ends in an exception."""
    read = {
        name
        for source in (build_context("curator") / "worker").glob("*.java")
        for name in re.findall(r'\banswer\.get\("(\w+)"\)', source.read_text())
    }
    assert read == set(Acted.__struct_fields__) - {"order"}


def test_numbers_that_the_worker_repeats():
    assert f"PERMITS = {SemaphoreWorkload.permits};" in java("SemaphoreContender")
    assert f"BARRIERS = {KEEPERS};" in java("BarrierClient")
    assert f"MOMENTS_S = {{{', '.join(map(str, MOMENTS_S))}}};" in java("Usage")


def test_the_worker_reads_what_only_a_client_can_do_of_a_usage():
    read = set(re.findall(r'share\(words, "(\w+)"\)', java("Usage")))
    of_the_load = {"think", "burst", "tries", "patience", "holding"}
    assert read | of_the_load == set(IN_CONTAINERS) <= set(Usage.__struct_fields__)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ensemble", "sim"], "which is not simulated: leave --ensemble sim out"),
        (["--kazoo", "2.9.0"], "takes no --kazoo"),
        (["--handler", "gevent"], "takes no --handler"),
        (["--usage", "tries=0.5,asks=0.5"], "and asks of --usage is for clients in Python"),
        (["--swarm"], "takes no --swarm"),
        (["--server-mutant", "x"], "takes no --server-mutant"),
    ],
)
def test_what_only_clients_in_python_have_is_refused(rumpus, options, says):
    answer = rumpus("run", "lock", "--recipe", "curator-mutex", *options)
    assert answer.code == 2
    assert says in " ".join(answer.err.split())


@pytest.mark.docker
def test_a_thread_of_a_process_in_python_cannot_be_stalled(rumpus):
    options = ["--ensemble", "docker", "--nemesis", "client-stall"]
    answer = rumpus("run", "lock", "--recipe", "fair", *options)
    assert answer.code == 4
    said = " ".join(answer.err.split())
    assert "client-stall: clients in Python: a thread that is stopped while" in said


def run(rumpus, name, *options):
    family = ENTRIES[name][0].name
    answer = rumpus("run", family, "--recipe", name, *options, "--json")
    found = json.loads(answer.out)
    return answer.code, {each["kind"] for each in found["anomalies"] if each["promised"]}, found


@pytest.mark.docker
def test_a_run_in_which_threads_are_stalled(rumpus):
    options = ["--nodes", "1", "--clients", "2", "--time-limit", "6", "--nemesis", "client-stall"]
    code, broken, found = run(rumpus, "curator-mutex", *options)
    assert (code in (0, 3), broken) == (True, set())
    assert found["versions"]["curator"] == "5.4.0"
    assert [(each["kind"], each["verified"] > 0) for each in found["faults"]] == [
        ("client-stall", True)
    ]
    (worked,) = (each for each in found["by_function"] if each["name"] == "work")
    assert worked["ok"] > worked["info"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in STOPPED])
def test_clients_are_stopped_and_started_in_the_middle_of_calls(rumpus, name):
    load = ["--nodes", "1", "--clients", "3", "--time-limit", "10", "--nemesis", "none"]
    _, broken, found = run(rumpus, name, *load, "--usage", "interrupts=0.9,restarts=0.1")
    assert broken <= STOPPED[name]
    calls, stops = {}, []
    for op in read_history(Path(found["run"]) / "history.jsonl"):
        if isinstance(op.process, int):
            calls[op.process] = op.f if op.type == "invoke" else None
        elif op.f == "closed":
            stops.append(calls.get(op.value["process"]))
    pending = [each for each in stops if each]
    assert 2 * len(pending) > len(stops) > 4, "most stops fall into a call"
    assert len(set(pending)) > 1, "not always into the same"


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in SOUND])
def test_sound_ones_keep_their_promises_under_all_faults(rumpus, name):
    code, broken, _ = run(rumpus, name)
    assert broken == set()
    assert code in (0, 3), "the servers' logs or the luck of the seed may leave it open"


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in WEAK])
def test_weak_ones_are_judged(rumpus, name):
    code, broken, _ = run(rumpus, name)
    assert (code == 1) == bool(broken)
    assert code in (0, 1, 3)


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in FAULTY])
def test_mutants_are_caught(rumpus, name):
    unaware = "unaware-holder" in ENTRIES[name][1].expected
    options = ["--nemesis", "client-partition"] if unaware else []
    for _ in range(3):
        code, broken, _ = run(rumpus, name, *options)
        if ENTRIES[name][1].expected <= broken:
            assert code == 1
            return
    pytest.fail(f"{name} was not caught in three runs")
