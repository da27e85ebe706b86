import pytest

from rumpus.simulation.zookeeper.quorum.leader import Leader
from rumpus.simulation.zookeeper.quorum.zab_invariants import InvariantViolation
from tests.sampling import one_in, sampled
from tests.simulation.zookeeper import chaos


@sampled(("seed", "count"), [(0, 3), (0, 5), (1, 3), (1, 5)], of=3)
def test_nothing_acknowledged_is_lost_and_all_servers_agree(seed, count):
    world = chaos.run(seed, count, seconds=40)
    assert sum(len(client.acknowledged) for client in world.clients) > 50
    assert world.recovery < 130, "two rounds of notifications, at most a minute apart"


@one_in(2)
def test_observers_agree_as_well():
    world = chaos.run(11, 3, observers=2, seconds=40)
    assert world.modes["n4"] == world.modes["n5"] == "observer"


@one_in(2)
def test_a_run_is_decided_by_its_seed():
    digests = [chaos.run(5, 3, seconds=20).simulator.digest() for _ in range(2)]
    assert digests[0] == digests[1]
    assert chaos.run(6, 3, seconds=20).simulator.digest() != digests[0]


def test_disks_that_lie_lose_what_was_acknowledged():
    def lying(seed):
        world = chaos.ChaosWorld(seed, 3)
        for disk in world.cluster.disks.values():
            disk.lie()
        world.run(3)
        for node in world.cluster.nodes:
            world.power_off(node)
        world.run(1)
        world.heal()
        world.wait_until_all_serve(30)

    with pytest.raises(InvariantViolation, match="was committed, but server"):
        lying(1)


def test_a_leader_that_needs_no_quorum_is_found_out(monkeypatch):
    monkeypatch.setattr(Leader, "_is_quorum", lambda _self, _acks: True)
    with pytest.raises(InvariantViolation, match="have logged"):
        chaos.run(1, 3, seconds=20)
