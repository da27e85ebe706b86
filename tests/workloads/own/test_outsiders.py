"""Recipes in plain kazoo code, as somebody writes them who knows nothing of rumpus, on trial."""

import pytest
from kazoo.recipe import barrier, counter, election, lock, partitioner, party, queue

import rumpus
from rumpus.recipes.breaking.breakable_lock import IdentityLock
from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.two_phase_commit.transaction_nodes import PeerCommit
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.register import LocalRegister
from rumpus.recipes.znodes.watched_znode import WatchedZnode
from tests.workloads.own import outsiders

SOUND = {
    "lock": (outsiders.Queuer, "client-pause"),
    "semaphore": (outsiders.Semaphore, "client-pause"),
    "election": (outsiders.Election, "client-pause"),
    "read-write": (outsiders.ReadWrite, "client-pause"),
    "barrier": (outsiders.Barrier, "client-kill"),
    "queue": (outsiders.Queue, "client-kill"),
    "counter": (outsiders.Counter, "client-kill"),
    "latch": (outsiders.Latch, "client-kill"),
    "registry": (outsiders.Registry, "client-kill"),
    "partitioner": (outsiders.Partitioner, "client-pause"),
}
VARIANTS = {
    "read-write": (outsiders.SidedReadWrite, "client-pause"),
    "queue": (outsiders.ClaimingQueue, "client-kill"),
    "counter": (outsiders.SilentCounter, "client-kill"),
    "lock": (outsiders.make_queuer, "client-pause"),
}
WRONG = {
    "semaphore": (outsiders.GenerousSemaphore, "split-brain"),
    "election": (outsiders.HastyElection, "split-brain"),
    "read-write": (outsiders.RudeReadWrite, "split-brain"),
    "barrier": (outsiders.LeakyBarrier, "early-entry"),
    "double-barrier": (outsiders.EagerDoubleBarrier, "early-entry"),
    "queue": (outsiders.GreedyQueue, "duplicate-element"),
    "counter": (outsiders.BlindCounter, "miscount"),
    "latch": (outsiders.EarlyLatch, "early-entry"),
    "registry": (outsiders.LastingRegistry, "ghost-entry"),
    "partitioner": (outsiders.SelfishPartitioner, "shared-partition"),
}
KAZOO = {
    "lock": lock.Lock,
    "semaphore": lock.Semaphore,
    "election": election.Election,
    "barrier": barrier.Barrier,
    "double-barrier": barrier.DoubleBarrier,
    "queue": queue.Queue,
    "queue ": queue.LockingQueue,
    "priority-queue": queue.Queue,
    "counter": counter.Counter,
    "registry": party.Party,
    "partitioner": partitioner.SetPartitioner,
}


def trial(family, recipe, runs, **options):
    options = {"seeds": 2, "time_limit": 8.0, "clients": 3, "nemesis": ["client-pause"], **options}
    return rumpus.run(family.strip(), recipe, runs=runs, **options)


@pytest.mark.parametrize(
    ("family", "recipe", "fault"),
    [(family, *rest) for table in (SOUND, VARIANTS) for family, rest in table.items()],
)
def test_a_sound_recipe_of_somebody_else_is_valid(family, recipe, fault, tmp_path):
    result = trial(family, recipe, tmp_path, nemesis=[fault])
    assert result.outcome == "valid", str(result)
    assert "unexpected-error" not in {anomaly.kind for anomaly in result.hazards}


@pytest.mark.parametrize(("family", "recipe", "anomaly"), [(f, *rest) for f, rest in WRONG.items()])
def test_an_obvious_mistake_of_somebody_else_is_found(family, recipe, anomaly, tmp_path):
    fault = "client-kill" if family == "registry" else "client-pause"
    result = trial(family, recipe, tmp_path, seeds=20, nemesis=[fault])
    assert result.outcome == "violation", str(result)
    assert anomaly in {each.kind for each in result.anomalies}


@pytest.mark.parametrize(("family", "recipe"), KAZOO.items())
def test_kazoos_own_classes_run_directly(family, recipe, tmp_path):
    """Their flaws (docs/findings.md) may show; a call that they do not have must not."""
    result = trial(family, recipe, tmp_path, seeds=1)
    kinds = {anomaly.kind for anomaly in result.anomalies}
    assert "unexpected-error" not in kinds, str(result)
    assert result.outcome != "unknown", str(result)
    assert result.notes.startswith("It does not say what it promises. Judged: ")


@pytest.mark.parametrize(
    ("family", "recipe", "fault"),
    [
        ("jobs", Jobs, "client-kill"),
        ("two-phase-commit", PeerCommit, "client-kill"),
        ("breaking", IdentityLock, "client-pause"),
        ("register", LocalRegister, "client-kill"),
        ("watch", WatchedZnode, "client-kill"),
        ("znode", GuardedZnodes, "client-kill"),
    ],
)
def test_a_class_with_the_interface_of_the_recipes_here_is_valid(family, recipe, fault, tmp_path):
    result = trial(family, recipe, tmp_path, nemesis=[fault], clients=5)
    assert result.outcome == "valid", str(result)


def test_the_promised_order_is_judged_by_the_contenders_nodes(tmp_path):
    fair = trial("lock", outsiders.Queuer, tmp_path, promises=["fifo"])
    assert fair.outcome == "valid", str(fair)
    unfair = trial("lock", outsiders.Barger, tmp_path, promises=["fifo"])
    assert "unfair-grant" in {anomaly.kind for anomaly in unfair.anomalies}


def test_a_promised_order_that_cannot_be_judged_is_unknown(tmp_path):
    result = trial("lock", outsiders.QueuerElsewhere, tmp_path, promises=["fifo"], seeds=1)
    assert result.outcome == "unknown"
    assert "none names a znode with a sequence number" in result.reasons[0]


def test_a_call_that_never_returns_does_not_hang_the_run(tmp_path):
    result = trial("lock", outsiders.Hanging, tmp_path, seeds=1, nemesis=[])
    assert result.outcome == "unknown"
    assert "overdue-call" in {anomaly.kind for anomaly in result.hazards}


def test_what_a_function_makes_is_looked_at_too(tmp_path):
    result = trial("lock", outsiders.make_forgetful, tmp_path, seeds=1, nemesis=[])
    assert result.outcome == "violation"
    assert "Forgetful, which lacks `acquire(timeout) -> bool` and `release()`" in str(result)


def test_what_is_derived_stands_in_the_verdict(tmp_path):
    result = trial("election", outsiders.Election, tmp_path, seeds=1)
    assert "nobody observes who leads" in result.notes
    assert result.notes in str(result)
