"""Recipes in plain kazoo code, as somebody writes them who knows nothing of rumpus, on trial."""

from kazoo.recipe import partitioner

import rumpus
from rumpus.recipes.breaking import faulty_breakable_locks
from rumpus.recipes.breaking.breakable_lock import IdentityLock
from rumpus.recipes.chubby.library import Chubby
from rumpus.recipes.failover import faulty_failover
from rumpus.recipes.failover.database import FailoverDatabase
from rumpus.recipes.jobs import faulty_jobs
from rumpus.recipes.jobs.job_queue import Jobs
from rumpus.recipes.sealed_log import faulty_sealed_logs
from rumpus.recipes.sealed_log.sealed_log import SealedLog
from rumpus.recipes.two_phase_commit import faulty_two_phase_commits
from rumpus.recipes.two_phase_commit.transaction_nodes import PeerCommit
from rumpus.recipes.view import faulty_views
from rumpus.recipes.view.follower_view import DataView
from rumpus.recipes.znodes import faulty_znodes
from rumpus.recipes.znodes.append_log import AppendLog
from rumpus.recipes.znodes.ephemeral_nodes import EphemeralNodes
from rumpus.recipes.znodes.guarded_znodes import GuardedZnodes
from rumpus.recipes.znodes.multi_write import MultiWrite
from rumpus.recipes.znodes.register import LocalRegister
from rumpus.recipes.znodes.sequence import SequentialNodes
from rumpus.recipes.znodes.watched_znode import WatchedZnode
from rumpus.workloads.registry import WORKLOADS
from tests.sampling import sampled
from tests.workloads.own import outsiders

BUSY = {"seeds": 1, "time_limit": 3.0, "session_timeout": 1.0, "nemesis": ["client-pause"]}
"""Clients that contend all the time: in a few seconds enough has happened."""

KILLED = {**BUSY, "nemesis": ["client-kill"]}

QUIET = {**KILLED, "time_limit": 8.0}
"""Clients that call now and then."""

SELDOM = {**QUIET, "seeds": 2}

ALL = {**QUIET, "clients": 5}
"""Families in which only some of the clients do what must have happened."""

SOUND = [
    ("lock", outsiders.Queuer, BUSY),
    ("lock", outsiders.make_queuer, BUSY),
    ("semaphore", outsiders.Semaphore, BUSY),
    ("election", outsiders.Election, BUSY),
    ("election", outsiders.RunningElection, BUSY),
    ("read-write", outsiders.ReadWrite, BUSY),
    ("read-write", outsiders.SidedReadWrite, BUSY),
    ("barrier", outsiders.Barrier, SELDOM),
    ("double-barrier", outsiders.DoubleBarrier, {**QUIET, "nemesis": ["client-pause"]}),
    ("latch", outsiders.Latch, SELDOM),
    ("queue", outsiders.Queue, QUIET),
    ("queue", outsiders.ClaimingQueue, {**SELDOM, "time_limit": 14.0}),
    ("priority-queue", outsiders.PriorityQueue, QUIET),
    ("counter", outsiders.Counter, QUIET),
    ("counter", outsiders.SilentCounter, QUIET),
    ("registry", outsiders.Registry, KILLED),
    ("registry", outsiders.Group, KILLED),
    ("partitioner", outsiders.Partitioner, BUSY),
    ("partitioner", partitioner.SetPartitioner, BUSY),
    # These have the interface of the recipes here.
    ("jobs", Jobs, {**SELDOM, "time_limit": 14.0}),
    ("two-phase-commit", PeerCommit, KILLED),
    ("view", DataView, KILLED),
    ("breaking", IdentityLock, {**ALL, "nemesis": ["client-pause"]}),
    ("failover", FailoverDatabase, {**ALL, "seeds": 2}),
    ("sealed-log", SealedLog, SELDOM),
    ("chubby", Chubby, {**BUSY, "clients": 5, "time_limit": 15.0}),
    ("register", LocalRegister, KILLED),
    ("append", AppendLog, KILLED),
    ("multi", MultiWrite, KILLED),
    ("sequence", SequentialNodes, KILLED),
    ("watch", WatchedZnode, ALL),
    ("ephemeral", EphemeralNodes, KILLED),
    ("znode", GuardedZnodes, KILLED),
]
WRONG = [
    ("lock", outsiders.ShortSightedQueuer, "split-brain"),
    ("semaphore", outsiders.GenerousSemaphore, "split-brain"),
    ("election", outsiders.HastyElection, "split-brain"),
    ("election", outsiders.HastyRunningElection, "split-brain"),
    ("read-write", outsiders.RudeReadWrite, "split-brain"),
    ("read-write", outsiders.RudeSidedReadWrite, "split-brain"),
    ("barrier", outsiders.LeakyBarrier, "early-entry"),
    ("double-barrier", outsiders.EagerDoubleBarrier, "early-entry"),
    ("latch", outsiders.EarlyLatch, "early-entry"),
    ("queue", outsiders.GreedyQueue, "duplicate-element"),
    ("queue", outsiders.CarelessClaimingQueue, "lost-element"),
    ("priority-queue", outsiders.TextPriorityQueue, "out-of-order"),
    ("counter", outsiders.BlindCounter, "miscount"),
    ("registry", outsiders.LastingRegistry, "ghost-entry"),
    ("registry", outsiders.LastingGroup, "ghost-entry"),
    ("partitioner", outsiders.SelfishPartitioner, "shared-partition"),
    ("partitioner", outsiders.GreedySetPartitioner, "unowned-partition"),
    ("jobs", faulty_jobs.PersistentClaimJobs, "lost-job"),
    ("two-phase-commit", faulty_two_phase_commits.OverwritesCommit, "two-decisions"),
    ("view", faulty_views.WatchAfterReadDataView, "stale-view"),
    ("breaking", faulty_breakable_locks.FreesFirstLock, "split-brain"),
    ("failover", faulty_failover.NeverStepsDown, "split-brain"),
    ("sealed-log", faulty_sealed_logs.ReadsOne, "lost-write"),
    ("chubby", outsiders.ServersThatAskNobody, "stale-request"),
    ("register", faulty_znodes.OverwritesRegister, "not-linearizable"),
    ("append", faulty_znodes.BlindAppendLog, "not-linearizable"),
    ("multi", faulty_znodes.OneByOneWrite, "torn-multi"),
    ("sequence", faulty_znodes.CountsChildrenSequence, "duplicate-sequence"),
    ("watch", faulty_znodes.WatchesOnceWatch, "missed-event"),
    ("ephemeral", faulty_znodes.PersistentNodes, "lingering-ephemeral"),
    ("znode", faulty_znodes.UnguardedZnodes, "unauthorised-access"),
]
# Of the other families the first recipe and the first mutant, as if they were somebody else's.
for family in WORKLOADS.keys() - {family for family, *_ in SOUND}:
    first, *others = WORKLOADS[family].catalogue.values()
    wrong = next(each for each in others if each.faulty)
    SOUND.append((family, first.recipe, KILLED))
    WRONG.append((family, wrong.recipe, min(wrong.expected)))
OF_KAZOO = [
    (family, reference) for family, known in WORKLOADS.items() for reference in known.of_kazoo
]


def trial(family, recipe, runs, **options):
    return rumpus.run(family, recipe, runs=runs, **{"clients": 3, **BUSY, **options})


def test_every_family_has_a_sound_recipe_and_a_wrong_one():
    assert {family for family, *_ in SOUND} == set(WORKLOADS)
    assert {family for family, *_ in WRONG} == set(WORKLOADS)


@sampled(("family", "recipe", "options"), SOUND, of=5)
def test_a_sound_recipe_of_somebody_else_is_valid(family, recipe, options, tmp_path):
    result = trial(family, recipe, tmp_path, **options)
    assert result.outcome == "valid", str(result)
    assert "unexpected-error" not in {anomaly.kind for anomaly in result.hazards}


@sampled(("family", "recipe", "anomaly"), WRONG, of=7)
def test_an_obvious_mistake_of_somebody_else_is_found(family, recipe, anomaly, tmp_path):
    clients = 5 if family in ("breaking", "chubby", "failover", "watch") else 3
    seconds = 8.0 if family == "chubby" else 2.0
    options = {**KILLED, "seeds": 20, "time_limit": seconds, "clients": clients}
    result = trial(family, recipe, tmp_path, **options)
    assert result.outcome == "violation", str(result)
    assert anomaly in {each.kind for each in result.anomalies}


@sampled(("family", "recipe"), OF_KAZOO, of=7)
def test_kazoos_own_classes_run_directly(family, recipe, tmp_path):
    """Their flaws (docs/track-record) may show; a call that they do not have must not."""
    result = trial(family, recipe, tmp_path, time_limit=2.0)
    kinds = {anomaly.kind for anomaly in result.anomalies}
    assert "unexpected-error" not in kinds, str(result)
    assert result.outcome != "unknown", str(result)
    assert result.notes.startswith("It does not say what it promises. Judged: ")


def test_the_promised_order_is_judged_by_the_contenders_nodes(tmp_path):
    fair = trial("lock", outsiders.Queuer, tmp_path, promises=["fifo"])
    assert fair.outcome == "valid", str(fair)
    unfair = trial("lock", outsiders.Barger, tmp_path, promises=["fifo"])
    assert "unfair-grant" in {anomaly.kind for anomaly in unfair.anomalies}


def test_a_promised_order_that_cannot_be_judged_is_unknown(tmp_path):
    result = trial("lock", outsiders.QueuerElsewhere, tmp_path, promises=["fifo"])
    assert result.outcome == "unknown"
    assert "none names a znode with a sequence number" in result.reasons[0]


def test_grants_are_judged_by_the_servers_logs_without_a_line(tmp_path):
    result = trial("semaphore", outsiders.UncheckedLeases, tmp_path, time_limit=2.0, nemesis=[])
    assert "double-grant" in {anomaly.kind for anomaly in result.anomalies}
    assert result.unjudged == []


def test_the_verdict_says_that_the_servers_logs_do_not_show_who_owned_it(tmp_path):
    """Nobody says which znodes of a read-write lock are readers'."""
    result = trial("read-write", outsiders.ReadWrite, tmp_path, time_limit=2.0, nemesis=[])
    (what,) = result.unjudged
    assert what.startswith("who owned the lock by the servers' logs (double-grant): ")
    assert f"Not judged: {what}" in str(result)


def test_a_call_that_never_returns_does_not_hang_the_run(tmp_path):
    result = trial("lock", outsiders.Hanging, tmp_path, nemesis=[])
    assert result.outcome == "unknown"
    assert "overdue-call" in {anomaly.kind for anomaly in result.hazards}


def test_what_a_function_makes_is_looked_at_too(tmp_path):
    result = trial("lock", outsiders.make_forgetful, tmp_path, time_limit=1.0, nemesis=[])
    assert result.outcome == "violation"
    assert "Forgetful, which lacks `acquire(timeout) -> bool` and `release()`" in str(result)


def test_what_is_derived_stands_in_the_verdict(tmp_path):
    result = trial("election", outsiders.Election, tmp_path, time_limit=1.0, nemesis=[])
    assert "nobody observes who leads" in result.notes
    assert result.notes in str(result)
