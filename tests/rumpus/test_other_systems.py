"""Recipes for servers that are not ZooKeeper's: refusals, records, and runs on real servers."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from rumpus.harness.docker.systems import SYSTEMS
from rumpus.nemesis.plan import load_plan
from rumpus.recipes.lock.on_other_systems import OTHER_LOCKS
from rumpus.recipes.other_systems import MissingLibrary, OtherSystemEntry
from rumpus.recipes.servers import ZOOKEEPER
from rumpus.results.run_directory import RunDirectory
from rumpus.workloads.registry import WORKLOADS

ENTRIES = [
    (workload.name, name)
    for workload in WORKLOADS.values()
    for name, entry in workload.elsewhere.items()
    if entry.system != ZOOKEEPER
]


def entry_of(family: str, name: str) -> OtherSystemEntry:
    return WORKLOADS[family].elsewhere[name]


SOUND = [each for each in ENTRIES if not (entry_of(*each).faulty or entry_of(*each).weakness)]
FAULTY = [each for each in ENTRIES if entry_of(*each).faulty]
KEPT_ALIVE = [("election", "etcd"), ("lock", "etcd-queue")]

full = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not os.environ.get("RUMPUS_FULL_CHECKS"), reason="minutes: make test-full runs it"
    ),
]


@pytest.mark.parametrize(("family", "name"), ENTRIES)
def test_every_entry_can_be_loaded_and_names_what_is_there(family, name):
    entry = entry_of(family, name)
    recipe = WORKLOADS[family].recipe_of(name)
    assert recipe.system == entry.system
    assert entry.system in SYSTEMS
    assert recipe.line("/rumpus/lock") is None
    assert entry.expected <= recipe.promises.prevents, "a mutant breaks what it promises"
    assert bool(entry.expected) == entry.faulty


def test_every_kind_of_promise_of_a_lease_has_a_mutant():
    broken = {kind for entry in OTHER_LOCKS.values() for kind in entry.expected}
    assert {"split-brain", "stale-belief", "deadlock", "unfair-grant"} <= broken


@pytest.mark.parametrize("family", ["election", "register", "multi", "watch"])
def test_every_promise_on_etcd_has_a_mutant(family):
    entries = WORKLOADS[family].elsewhere.values()
    broken = {kind for entry in entries for kind in entry.expected}
    assert WORKLOADS[family].recipe_of("etcd").promises.prevents <= broken


def test_a_missing_library_is_named_with_the_remedy():
    entry = OtherSystemEntry("redis.redis_lock:RedisLock", "redis", "no_such_library", extra="x")
    assert entry.missing == "needs the Python package no_such_library: pip install 'rumpus[x]'"
    with pytest.raises(MissingLibrary, match=r"pip install 'rumpus\[x\]'"):
        entry.load()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ensemble", "sim"], "runs on redis, which is not simulated"),
        (["--image", "zookeeper:3.9"], "takes no --image, which is for ZooKeeper"),
        (["--kazoo", "2.9.0"], "takes no --kazoo"),
        (["--swarm"], "takes no --swarm"),
    ],
)
def test_what_only_zookeeper_has_is_refused(rumpus, options, says):
    answer = rumpus("run", "lock", "--recipe", "redis", *options)
    assert answer.code == 2
    assert says in " ".join(answer.err.split())


def test_a_missing_library_ends_a_run_with_code_4(rumpus, monkeypatch):
    monkeypatch.setattr("rumpus.recipes.other_systems.find_spec", lambda _: None)
    answer = rumpus("run", "lock", "--recipe", "etcd")
    assert answer.code == 4
    assert "lock / etcd needs the Python package etcd3gw: pip install 'rumpus[etcd]'" in " ".join(
        answer.err.split()
    )


def run(rumpus, family, *options):
    answer = rumpus("run", family, *options, "--json")
    return answer.code, {
        each["kind"] for each in json.loads(answer.out)["anomalies"] if each["promised"]
    }


PAGE = Path(__file__).parents[2] / "docs" / "recipes" / "systems.md"


def plan_of(name, directory):
    """A fault plan of docs/recipes/systems.md, as a file."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(rf"`{re.escape(name)}`:\n\n```json\n(.*?)```", text, re.DOTALL)
    assert len(found) == 1, name
    path = directory / name
    path.write_text(found[0])
    return path


PLANS = {"split.json", "restart.json", "clock.json", "frozen-holder.json", "frozen-leader.json"}


@pytest.mark.parametrize("name", sorted(PLANS))
def test_the_plans_of_the_page_are_plans(name, tmp_path):
    nodes = 5 if name in ("restart.json", "clock.json", "frozen-holder.json") else 3
    load_plan(plan_of(name, tmp_path), clients=5, nodes=nodes)


def performed(rumpus, tmp_path, recipe, plan, *options):
    """A run with a plan of the page: the anomalies by kind, and whether it broke a promise."""
    given = ("--plan", plan_of(plan, tmp_path), "--runs", tmp_path / "runs", "--json")
    answer = rumpus("run", "lock", "--recipe", recipe, *map(str, given), *options)
    return answer.code, {each["kind"] for each in json.loads(answer.out)["anomalies"]}


SHOWN = [
    ("redis-sentinel", "split.json", "25", "split-brain"),
    ("redlock-forgetful", "restart.json", "20", "split-brain"),
    ("redlock", "clock.json", "20", "split-brain"),
    ("redlock", "frozen-holder.json", "24", "stale-action"),
    ("redlock-fenced", "frozen-holder.json", "24", "fenced"),
    ("etcd-queue", "frozen-leader.json", "30", "stale-belief"),
]


@pytest.mark.parametrize(
    ("recipe", "plan", "seconds", "kind"), [pytest.param(*each, marks=full) for each in SHOWN]
)
def test_what_cannot_be_kept_is_shown(rumpus, tmp_path, recipe, plan, seconds, kind):
    slow = ("--action-time", "1") if plan == "frozen-leader.json" else ()
    for number in range(3):
        place = tmp_path / str(number)
        place.mkdir()
        if kind in performed(rumpus, place, recipe, plan, "--time-limit", seconds, *slow)[1]:
            return
    pytest.fail(f"{recipe} has not shown {kind} in three runs with {plan}")


@pytest.mark.parametrize("plan", [pytest.param("restart.json", marks=full)])
def test_servers_that_keep_their_data_grant_once(rumpus, tmp_path, plan):
    code, kinds = performed(rumpus, tmp_path, "redlock", plan, "--time-limit", "20")
    assert code == 0
    assert kinds <= {"stale-action"}


@pytest.mark.parametrize(
    "plan", [pytest.param(each, marks=full) for each in ("clock.json", "frozen-holder.json")]
)
def test_with_tokens_no_action_comes_after_that_of_a_later_holder(rumpus, tmp_path, plan):
    _, kinds = performed(rumpus, tmp_path, "redlock-fenced", plan, "--time-limit", "24")
    assert "stale-action" not in kinds
    (place,) = (tmp_path / "runs").glob("lock/2*")
    acts = RunDirectory(place).read_history().events("witness", "act")
    tokens = [op.value["token"] for op in acts if op.value["accepted"]]
    assert tokens
    assert all(earlier <= later for earlier, later in pairwise(tokens))


@pytest.mark.parametrize(("family", "name"), [pytest.param(*each, marks=full) for each in SOUND])
def test_sound_ones_keep_their_promises_under_all_faults(rumpus, family, name):
    assert run(rumpus, family, "--recipe", name) == (0, set())


@pytest.mark.parametrize(
    ("family", "name"), [pytest.param(*each, marks=full) for each in KEPT_ALIVE]
)
def test_leases_that_are_kept_alive_hold_if_no_server_is_frozen(rumpus, family, name):
    faults = "kill,partition,client-kill,client-pause,client-partition"
    assert run(rumpus, family, "--recipe", name, "--nemesis", faults) == (0, set())


@pytest.mark.parametrize(("family", "name"), [pytest.param(*each, marks=full) for each in FAULTY])
def test_mutants_are_caught(rumpus, family, name):
    for _ in range(3):
        code, broken = run(rumpus, family, "--recipe", name, "--time-limit", "40")
        if entry_of(family, name).expected <= broken:
            assert code == 1
            return
    pytest.fail(f"{family} / {name} was not caught in three runs")


@pytest.mark.parametrize("name", [pytest.param("redis-sentinel", marks=full)])
def test_a_failover_loses_grants_or_tokens(rumpus, name):
    for _ in range(3):
        code, broken = run(rumpus, "lock", "--recipe", name)
        if broken & {"split-brain", "token-regression"}:
            assert code == 1
            return
    pytest.fail("three runs with failovers lost nothing")
