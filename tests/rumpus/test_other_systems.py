"""Recipes for servers that are not ZooKeeper's: refusals, records, and runs on real servers."""

import os

import pytest

from rumpus.harness.docker.systems import SYSTEMS
from rumpus.recipes.lock.on_other_systems import OTHER_LOCKS
from rumpus.recipes.other_systems import MissingLibrary, OtherSystemEntry
from rumpus.workloads.registry import WORKLOADS

ENTRIES = [(workload.name, name) for workload in WORKLOADS.values() for name in workload.elsewhere]


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


@pytest.mark.parametrize("family", ["register", "multi", "watch"])
def test_every_promise_about_keys_has_a_mutant(family):
    entries = WORKLOADS[family].elsewhere.values()
    broken = {kind for entry in entries for kind in entry.expected}
    # The other families have a mutant of these, and the same reads and connections.
    elsewhere = {"session-order", "stuck-waiter"} if family == "watch" else set()
    assert WORKLOADS[family].recipe_of("etcd").promises.prevents - broken == elsewhere


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


def run(rumpus, family, *options):
    answer = rumpus("run", family, *options, "--json")
    return answer.code, {each["kind"] for each in answer.json()["anomalies"] if each["promised"]}


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
