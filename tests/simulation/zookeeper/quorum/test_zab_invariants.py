"""Every violated invariant is found."""

import pytest

from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.quorum.zab_invariants import InvariantViolation, ZabInvariants
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.transactions import Entry, ErrorTxn, Header, SetDataTxn
from rumpus.simulation.zookeeper.wire.opcodes import RECONFIG

E1, E2 = 1 << 32, 2 << 32


def entry(zxid, payload=b""):
    return Entry(Header(1, 1, zxid, 0, -1), ErrorTxn(-1), None, payload or b"%d" % zxid)


@pytest.fixture
def watch():
    watch = ZabInvariants([1, 2, 3])
    watch.elected(3, 1)
    watch.activated(3, 1, 0, [])
    return watch


def commit(watch, *zxids, leader=3, logs=(2, 3)):
    made = [entry(zxid) for zxid in zxids]
    for one in made:
        watch.proposed(leader, one)
        for server in logs:
            watch.logged(server, one.header.zxid)
        watch.committed(leader, one)
    return made


def test_what_is_in_order_passes(watch):
    for one in commit(watch, E1 + 1, E1 + 2):
        for server in (1, 2, 3):
            watch.applied(server, one)
    watch.elected(2, 2)
    watch.activated(2, 2, E1 + 2, [E1 + 1, E1 + 2])
    watch.joined(1, 2, E1 + 2)
    (one,) = commit(watch, E2 + 1, leader=2, logs=(1, 2))
    watch.applied(1, one)
    assert watch.order == [E1 + 1, E1 + 2, E2 + 1]


def test_what_an_old_leader_has_left_behind_becomes_committed(watch):
    commit(watch, E1 + 1)
    watch.proposed(3, entry(E1 + 2))
    watch.elected(2, 2)
    watch.activated(2, 2, E1 + 2, [E1 + 1, E1 + 2])
    assert watch.order == [E1 + 1, E1 + 2]


def test_a_commit_needs_the_logs_of_a_quorum(watch):
    with pytest.raises(InvariantViolation, match=r"0x100000001.*\[3\]"):
        commit(watch, E1 + 1, logs=(3,))


def test_observers_logs_do_not_count(watch):
    with pytest.raises(InvariantViolation, match="logged"):
        commit(watch, E1 + 1, logs=(3, 4, 5))


def test_commits_have_no_gaps(watch):
    with pytest.raises(InvariantViolation, match="0x100000001 comes next"):
        commit(watch, E1 + 2)


def test_a_deposed_leader_commits_nothing_new(watch):
    old = entry(E1 + 1)
    watch.proposed(3, old)
    watch.elected(2, 2)
    watch.activated(2, 2, 0, [])
    for server in (1, 3):
        watch.logged(server, E1 + 1)
    with pytest.raises(InvariantViolation, match="epoch 2 has begun"):
        watch.committed(3, old)


def test_two_leaders_of_an_epoch(watch):
    with pytest.raises(InvariantViolation, match="two leaders: 3 and 2"):
        watch.elected(2, 1)


def test_epochs_only_grow(watch):
    with pytest.raises(InvariantViolation, match="after epoch 1"):
        watch.activated(3, 1, 0, [])


def test_a_new_leader_without_a_committed_entry(watch):
    commit(watch, E1 + 1, E1 + 2)
    watch.elected(1, 2)
    with pytest.raises(InvariantViolation, match=r"0x100000002 was committed, but server 1"):
        watch.activated(1, 2, E1 + 1, [E1 + 1])


def test_a_new_leader_with_a_gap_in_its_history(watch):
    commit(watch, E1 + 1, E1 + 2, E1 + 3)
    watch.elected(1, 2)
    with pytest.raises(InvariantViolation, match="differs at 0x100000002"):
        watch.activated(1, 2, E1 + 3, [E1 + 1, E1 + 3])


def test_a_proposal_of_another_leaders_epoch(watch):
    with pytest.raises(InvariantViolation, match="another's epoch"):
        watch.proposed(2, entry(E1 + 1))


def test_a_zxid_is_given_once(watch):
    watch.proposed(3, entry(E1 + 1, b"one"))
    with pytest.raises(InvariantViolation, match="second time"):
        watch.proposed(3, entry(E1 + 1, b"other"))


def test_only_what_was_proposed_is_applied(watch):
    commit(watch, E1 + 1)
    with pytest.raises(InvariantViolation, match="another content"):
        watch.applied(1, entry(E1 + 1, b"other"))
    with pytest.raises(InvariantViolation, match="never proposed"):
        watch.applied(1, entry(E1 + 2))


def test_nothing_is_applied_before_it_is_committed(watch):
    early = entry(E1 + 1)
    watch.proposed(3, early)
    with pytest.raises(InvariantViolation, match="before it is committed"):
        watch.applied(1, early)


def test_all_apply_in_the_same_order(watch):
    _, second = commit(watch, E1 + 1, E1 + 2)
    with pytest.raises(InvariantViolation, match="0x100000001 comes next"):
        watch.applied(2, second)


def test_a_learner_joins_with_a_state_that_was_committed(watch):
    commit(watch, E1 + 1)
    with pytest.raises(InvariantViolation, match="never committed"):
        watch.joined(1, 1, E1 + 2)


def reconfiguration(zxid, *voters):
    text = QuorumVerifier([Member(voter, f"n{voter}") for voter in voters], zxid).text()
    transaction = SetDataTxn("/zookeeper/config", text.encode(), -1)
    return Entry(Header(1, 1, zxid, 0, RECONFIG), transaction, None, b"%d" % zxid)


def commit_reconfiguration(watch, zxid, voters, logs):
    one = reconfiguration(zxid, *voters)
    watch.proposed(3, one)
    for server in logs:
        watch.logged(server, zxid)
    watch.committed(3, one)


@pytest.mark.parametrize("logs", [(1, 2, 3), (3, 4, 5), (1, 4, 5)])
def test_a_reconfiguration_needs_the_logs_of_both_quorums(watch, logs):
    with pytest.raises(InvariantViolation, match="have logged"):
        commit_reconfiguration(watch, E1 + 1, (3, 4, 5), logs)


def test_after_a_reconfiguration_the_new_quorum_counts(watch):
    commit_reconfiguration(watch, E1 + 1, (3, 4, 5), (1, 3, 4))
    commit(watch, E1 + 2, logs=(3, 4))
    with pytest.raises(InvariantViolation, match="have logged"):
        commit(watch, E1 + 3, logs=(1, 2, 3))


def test_what_an_old_leader_commits_again_needs_the_old_quorum(watch):
    (old,) = commit(watch, E1 + 1, logs=(1, 2))
    commit_reconfiguration(watch, E1 + 2, (3, 4, 5), (1, 3, 4))
    watch.committed(3, old)


def test_an_epoch_may_begin_with_another_configuration(watch):
    commit(watch, E1 + 1)
    watch.elected(4, 2)
    watch.activated(4, 2, E1 + 1, [], QuorumVerifier([Member(4, "n4"), Member(5, "n5")], E1 + 9))
    commit(watch, E2 + 1, leader=4, logs=(4, 5))
    with pytest.raises(InvariantViolation, match="have logged"):
        commit(watch, E2 + 2, leader=4, logs=(3, 4))


def test_no_epoch_begins_with_an_older_configuration_than_was_committed(watch):
    commit_reconfiguration(watch, E1 + 1, (3, 4, 5), (1, 3, 4))
    watch.elected(2, 2)
    with pytest.raises(InvariantViolation, match="configuration 0x100000000, though 0x100000001"):
        watch.activated(2, 2, E1 + 1, [], QuorumVerifier([Member(2, "n2")], E1))
