"""The effect of each known bug of 3.8.0: it occurs with the bug and not without it."""

from contextlib import nullcontext

import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.kernel.simulator import MILLISECOND
from rumpus.simulation.zookeeper import bugs
from rumpus.simulation.zookeeper.quorum.zab_invariants import InvariantViolation
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE
from tests.simulation.zookeeper.ensemble import Ensemble


def test_every_bug_says_what_it_is():
    assert set(bugs.BUGS) == {
        value for name, value in vars(bugs).items() if name.isupper() and name != "BUGS"
    }


def only_n3_runs(bug, buggy):
    """An ensemble in which n1 lacks a committed write, n2 has stopped, and n3 has no quorum."""
    world = Ensemble(bugs=frozenset({bug} if buggy else ()))
    client = world.session("n3")
    world.kill("n1")
    assert client.call(op.create("/k")).error == 0
    world.kill("n2")
    world.wait_for(lambda: world.cluster.mode("n3") is None)
    return world


@pytest.mark.parametrize("buggy", [True, False])
def test_an_epoch_that_is_on_the_disk_before_its_data(buggy):
    world = only_n3_runs(bugs.CURRENT_EPOCH_BEFORE_DATA, buggy)
    world.cluster.disks["n1"].slow(extra=50 * MILLISECOND)
    world.start_nodes("n1")
    world.wait_for(lambda: world.cluster.mode("n3") == "leader")
    world.cluster.power_off("n1")
    world.kill("n3")
    world.cluster.disks["n1"].heal()
    with pytest.raises(InvariantViolation, match="server 1 begins") if buggy else nullcontext():
        world.start_nodes("n1", "n2")
        world.wait_for(world.serving("n1", "n2"))
        assert world.session("n1").call(op.exists("/k")).error == 0
    world.tear_down()


@pytest.mark.parametrize("buggy", [True, False])
def test_an_acknowledgement_that_overtakes_that_of_the_new_leader(buggy):
    world = only_n3_runs(bugs.ACK_ORDER, buggy)
    start = world.clock.now()
    world.start_nodes("n1")
    world.wait_for(world.serving("n1", "n3"))
    took = world.clock.now() - start
    assert took > 5 if buggy else took < 2
    world.tear_down()


@pytest.mark.parametrize("buggy", [True, False])
def test_a_gap_in_the_committed_log_is_handed_on(buggy):
    world = Ensemble(5, bugs=frozenset({bugs.DISCONTINUOUS_COMMITTED_LOG} if buggy else ()))
    assert world.session("n1").call(op.create("/0")).error == 0
    world.run_for(100)
    world.kill("n5")
    world.run_for(1000)
    client = world.session("n4")
    assert client.call(op.create("/a")).error == 0
    world.run_for(100)
    world.kill("n1")
    for path in ("/b", "/c"):
        assert client.call(op.create(path)).error == 0
    world.start_nodes("n5")
    world.wait_for(world.serving("n5"))
    assert client.call(op.create("/d")).error == 0
    world.run_for(100)
    world.kill("n4")
    with pytest.raises(InvariantViolation, match="server 5 begins") if buggy else nullcontext():
        world.wait_for(lambda: world.cluster.mode("n5") == "leader")
        world.start_nodes("n1")
        world.wait_for(world.serving("n1"))
        assert world.session("n1").call(op.exists("/c")).error == 0
    world.tear_down()


@pytest.mark.parametrize("buggy", [True, False])
def test_a_commit_that_finds_no_proposal_starts_the_sync_over(buggy):
    world = Ensemble(keep_trace=True, bugs=frozenset({bugs.NULL_POINTER_IN_SYNC} if buggy else ()))
    client = world.session("n3")
    world.kill("n1")
    for node in ("n2", "n3"):
        world.cluster.disks[node].slow(extra=400 * MILLISECOND)
    world.cluster.disks["n1"].slow(extra=1000 * MILLISECOND)
    client.send(op.create("/k"))  # it is proposed, and not committed, while n1 synchronizes
    world.run_for(10)
    world.start_nodes("n1")
    world.wait_for(world.serving("n1"))
    assert world.session("n1").call(op.exists("/k")).error == 0
    assert any("NullPointerException" in reason for reason in world.reasons("n1")) == buggy
    world.tear_down()


@pytest.mark.parametrize("buggy", [True, False])
def test_a_sync_that_has_the_number_of_a_write_which_its_session_sent_elsewhere(buggy):
    world = Ensemble(bugs=frozenset({bugs.SYNC_TAKEN_FOR_WRITE} if buggy else ()))
    reader = world.session("n1")
    moving = world.session("n1")
    world.network.delay("n1", "n3", 1000 * MILLISECOND)  # to the leader
    moving.send(op.sync("/"), xid=2)
    world.run_for(100)
    moved = world.reattach(moving, "n2")
    assert moved.call(op.create("/k"), xid=2).error == 0
    assert moved.call(op.delete("/k"), xid=3).error == 0
    world.run_for(100)
    assert reader.call(op.exists("/k")).error == NO_NODE
    world.run_for(2000)
    assert reader.call(op.exists("/k")).error == (0 if buggy else NO_NODE)
    assert moved.call(op.exists("/k")).error == NO_NODE
    world.tear_down()


@pytest.mark.parametrize("buggy", [True, False])
def test_proposals_that_are_logged_after_the_vote_come_back_with_a_restart(buggy):
    world = Ensemble(bugs=frozenset({bugs.LATE_LOGGING} if buggy else ()))
    client = world.session("n3")
    for node in ("n1", "n2"):
        world.cluster.disks[node].slow(extra=300 * MILLISECOND)
    client.send(op.create("/logged"), xid=1)
    world.run_for(50)
    client.send(op.create("/waiting"), xid=2)
    world.run_for(50)
    world.kill("n3")
    world.wait_for(lambda: not any(map(world.cluster.serves, ("n1", "n2"))))
    world.wait_for(world.serving("n1", "n2"))
    for node in ("n1", "n2"):
        world.cluster.disks[node].heal()
    led = "n1" if world.cluster.mode("n1") == "leader" else "n2"
    other = "n2" if led == "n1" else "n1"
    assert world.session(other).call(op.exists("/logged")).error == 0
    assert world.session(other).call(op.exists("/waiting")).error == (NO_NODE if buggy else 0)
    world.kill(other)
    world.wait_for(lambda: not world.cluster.serves(led))
    world.start_nodes(other)
    world.wait_for(world.serving("n1", "n2"))
    assert world.session(other).call(op.exists("/waiting")).error == 0
    assert world.session(led).call(op.exists("/waiting")).error == (NO_NODE if buggy else 0)
    world.tear_down()
