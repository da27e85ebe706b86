"""Members come and go among crashes, pauses, power failures and partitions."""

import pytest

from rumpus.simulation.zookeeper.quorum.quorum_verifier import JointVerifier
from rumpus.simulation.zookeeper.quorum.zab_invariants import InvariantViolation
from tests.sampling import one_in, sampled
from tests.simulation.zookeeper import membership_chaos


@sampled("seed", range(3), of=3)
def test_nothing_acknowledged_is_lost_and_all_servers_agree_on_the_members(seed):
    world = membership_chaos.run(seed, seconds=40)
    assert world.operator.outcomes[0] >= 10
    assert sum(len(client.acknowledged) for client in world.clients) > 500


@one_in(2)
def test_a_run_is_decided_by_its_seed():
    digests = [membership_chaos.run(3, seconds=8).simulator.digest() for _ in range(2)]
    assert digests[0] == digests[1]


def test_a_leader_that_forgets_the_new_quorum_is_found_out(monkeypatch):
    monkeypatch.setattr(
        JointVerifier, "is_quorum", lambda joint, mask: joint.current.is_quorum(mask)
    )
    with pytest.raises(InvariantViolation, match="have logged"):
        membership_chaos.run(0, seconds=40)
