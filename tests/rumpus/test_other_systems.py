"""Recipes for servers that are not ZooKeeper's: refusals, records, and runs on real servers."""

import json
import os

import pytest

from rumpus.harness.docker.systems import SYSTEMS
from rumpus.recipes.lock.on_other_systems import OTHER_LOCKS
from rumpus.recipes.other_systems import MissingLibrary, OtherSystemEntry
from rumpus.workloads.registry import WORKLOADS

SOUND = [name for name, entry in OTHER_LOCKS.items() if not entry.faulty and not entry.weakness]
FAULTY = [name for name, entry in OTHER_LOCKS.items() if entry.faulty]

full = [
    pytest.mark.docker,
    pytest.mark.skipif(
        not os.environ.get("RUMPUS_FULL_CHECKS"), reason="minutes: make test-full runs it"
    ),
]


@pytest.mark.parametrize("name", OTHER_LOCKS)
def test_every_entry_can_be_loaded_and_names_what_is_there(name):
    entry = OTHER_LOCKS[name]
    recipe = WORKLOADS["lock"].recipe_of(name)
    assert recipe.system == entry.system
    assert entry.system in SYSTEMS
    assert recipe.line("/rumpus/lock") is None
    assert entry.expected <= recipe.promises.prevents, "a mutant breaks what it promises"
    assert bool(entry.expected) == entry.faulty


def test_every_kind_of_promise_of_a_lease_has_a_mutant():
    broken = {kind for entry in OTHER_LOCKS.values() for kind in entry.expected}
    assert {"split-brain", "stale-belief", "deadlock"} <= broken


def test_a_missing_library_is_named_with_the_remedy():
    entry = OtherSystemEntry("redis.redis_lock:RedisLock", "redis", "no_such_library", extra="x")
    assert entry.missing == "needs no_such_library to speak to redis: install rumpus[x]"
    with pytest.raises(MissingLibrary, match=r"install rumpus\[x\]"):
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
    assert "lock / etcd needs etcd3gw to speak to etcd: install rumpus[etcd]" in " ".join(
        answer.err.split()
    )


def run(rumpus, *options):
    answer = rumpus("run", "lock", *options, "--json")
    return answer.code, {
        each["kind"] for each in json.loads(answer.out)["anomalies"] if each["promised"]
    }


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in SOUND])
def test_sound_ones_keep_their_promises_under_all_faults(rumpus, name):
    assert run(rumpus, "--recipe", name) == (0, set())


@pytest.mark.parametrize("name", [pytest.param(name, marks=full) for name in FAULTY])
def test_mutants_are_caught(rumpus, name):
    for _ in range(3):
        code, broken = run(rumpus, "--recipe", name, "--time-limit", "40")
        if OTHER_LOCKS[name].expected <= broken:
            assert code == 1
            return
    pytest.fail(f"{name} was not caught in three runs")


@pytest.mark.parametrize("name", [pytest.param("redis-sentinel", marks=full)])
def test_a_failover_loses_grants_or_tokens(rumpus, name):
    for _ in range(3):
        code, broken = run(rumpus, "--recipe", name)
        if broken & {"split-brain", "token-regression"}:
            assert code == 1
            return
    pytest.fail("three runs with failovers lost nothing")
