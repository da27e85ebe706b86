"""Elections over the simulated network: who wins, and that everybody agrees on it."""

import pytest

from rumpus.simulation.kernel.simulator import MILLISECOND, SECOND, Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.quorum.connection_manager import ConnectionManager
from rumpus.simulation.zookeeper.quorum.election import (
    FOLLOWING,
    LEADING,
    LOOKING,
    OBSERVING,
    Election,
    Notification,
    Vote,
    agree,
    is_better,
)
from rumpus.simulation.zookeeper.quorum.quorum_verifier import QuorumVerifier
from rumpus.simulation.zookeeper.settings import Member


class Voter:
    """A server that does nothing but take part in elections."""

    def __init__(self, world, server_id, zxid=0, epoch=0):
        self.server_id = server_id
        self.process = world.simulator.process(f"n{server_id}")
        self.decisions = []
        self.connections = ConnectionManager(
            self.process,
            world.network,
            server_id,
            lambda: world.verifier,
            10 * SECOND,
            lambda sender, message: self.election.received(sender, message),  # noqa: PLW0108 - later
            lambda: world.verifier.members[server_id],
        )
        self.election = Election(
            self.process, self.connections, server_id, lambda: world.verifier, self.decided
        )
        self.simulator = world.simulator
        self.zxid, self.epoch = zxid, epoch
        self.connections.start()
        self.look()

    def look(self):
        self.election.look(self.zxid, self.epoch)

    def decided(self, vote):
        self.decisions.append((self.simulator.now, vote))

    @property
    def state(self):
        return self.election.state

    @property
    def leader(self):
        return self.decisions[-1][1].leader if self.decisions else None


class World:
    def __init__(self, seed=1, voters=3, observers=0):
        self.simulator = Simulator(seed)
        self.network = Network(self.simulator)
        roles = ["participant"] * voters + ["observer"] * observers
        self.verifier = QuorumVerifier(
            [Member(number, f"n{number}", role=role) for number, role in enumerate(roles, 1)]
        )
        self.voters = {}

    def start(self, *server_ids, zxid=0, epoch=0):
        for server_id in server_ids:
            self.voters[server_id] = Voter(self, server_id, zxid, epoch)

    def run(self, seconds):
        self.simulator.run(self.simulator.now + int(seconds * SECOND))

    def leaders(self):
        return {server_id: voter.leader for server_id, voter in self.voters.items()}

    def kill(self, server_id):
        self.voters.pop(server_id).process.kill()


@pytest.fixture
def world():
    world = World()
    yield world
    world.simulator.close()


def test_votes_are_compared_by_epoch_then_zxid_then_id():
    assert is_better(1, 0, 2, 3, 99, 1)
    assert is_better(1, 5, 1, 3, 4, 1)
    assert is_better(3, 4, 1, 1, 4, 1)
    assert not is_better(1, 4, 1, 1, 4, 1)


def test_settled_votes_agree_whatever_their_round():
    assert agree(Vote(3, 1, 1, 1, FOLLOWING), Vote(3, 2, 7, 1, LEADING))
    assert not agree(Vote(3, 1, 1, 1, FOLLOWING), Vote(3, 1, 1, 2, LEADING))
    assert not agree(Vote(3, 1, 1, 1, LOOKING), Vote(3, 1, 2, 1, LEADING))


def test_of_equals_the_highest_id_leads(world):
    world.start(1, 2, 3)
    world.run(2)
    assert world.leaders() == {1: 3, 2: 3, 3: 3}
    assert [voter.state for voter in world.voters.values()] == [FOLLOWING, FOLLOWING, LEADING]
    assert {voter.election.round for voter in world.voters.values()} == {1}


def test_a_decision_takes_the_final_wait_and_a_little_more(world):
    world.start(1, 2, 3)
    world.run(2)
    for voter in world.voters.values():
        (decision,) = voter.decisions
        assert 200 * MILLISECOND <= decision[0] < 250 * MILLISECOND


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_history_leads(seed):
    world = World(seed, voters=5)
    world.start(2, 4, zxid=0x100000005, epoch=1)
    world.start(1, zxid=0x100000009, epoch=1)
    world.start(3, zxid=0x200000001, epoch=2)
    world.start(5, zxid=0x100000010, epoch=1)
    world.run(3)
    assert set(world.leaders().values()) == {3}
    world.simulator.close()


def test_the_first_majority_decides_and_the_late_joiner_follows(world):
    world.start(1, 2)
    world.run(2)
    assert world.leaders() == {1: 2, 2: 2}
    world.start(3)
    world.run(2)
    assert world.leaders() == {1: 2, 2: 2, 3: 2}
    assert world.voters[3].state == FOLLOWING
    assert len(world.voters[1].decisions) == 1


def test_a_minority_never_decides(world):
    world.start(3)
    world.run(300)
    assert world.leaders() == {3: None}
    world.start(1)
    world.run(70)
    assert world.leaders() == {3: 3, 1: 3}


def test_who_is_in_an_older_round_takes_over_the_newer_one(world):
    world.start(1, 2, 3)
    world.run(2)
    for _ in range(3):
        world.voters[1].look()
        world.voters[2].look()
        world.run(2)
    world.kill(3)
    world.start(3)
    world.voters[1].look()
    world.voters[2].look()
    world.run(5)
    assert len(set(world.leaders().values())) == 1
    assert len({voter.election.round for voter in world.voters.values()}) == 1


def test_a_restarted_server_rejoins_the_leader_that_is_there(world):
    world.start(1, 2, 3)
    world.run(2)
    world.kill(1)
    world.start(1, zxid=0x900000000, epoch=9)
    world.run(2)
    assert world.leaders() == {2: 3, 3: 3, 1: 3}
    assert world.voters[1].election.round == world.voters[3].election.round


def test_no_one_follows_a_leader_that_has_not_said_so_itself():
    world = World(voters=5)
    world.start(1)
    election = world.voters[1].election
    for sender in (2, 4, 5):
        election.received(sender, Notification(FOLLOWING, 3, 0, 7, 0, sender, world.verifier))
    assert world.leaders() == {1: None}
    election.received(3, Notification(LEADING, 3, 0, 7, 0, 3, world.verifier))
    assert world.leaders() == {1: 3}
    assert election.round == 7
    world.simulator.close()


def test_only_the_majoritys_side_of_a_partition_decides():
    world = World(voters=5)
    world.network.partition(
        {
            "n1": frozenset({"n4", "n5"}),
            "n2": frozenset({"n4", "n5"}),
            "n3": frozenset({"n4", "n5"}),
            "n4": frozenset({"n1", "n2", "n3"}),
            "n5": frozenset({"n1", "n2", "n3"}),
        }
    )
    world.start(1, 2, 3, 4, 5)
    world.run(30)
    assert world.leaders() == {1: 3, 2: 3, 3: 3, 4: None, 5: None}
    world.network.heal()
    world.run(130)
    assert set(world.leaders().values()) == {3}
    world.simulator.close()


def test_a_one_way_cut_keeps_only_one_server_out(world):
    world.network.cut("n3", "n1")
    world.network.cut("n3", "n2")
    world.start(1, 2, 3)
    world.run(30)
    assert (world.voters[1].leader, world.voters[2].leader) == (2, 2)
    assert world.voters[3].leader is None
    world.network.heal()
    world.run(130)
    assert set(world.leaders().values()) == {2}


def test_the_server_with_the_larger_id_keeps_the_connection(world):
    world.start(1, 2, 3)
    world.run(2)
    for low, high in ((1, 2), (1, 3), (2, 3)):
        link = world.voters[low].connections._links[high]
        assert link.transport.local[1] == 3888
        assert world.voters[high].connections._links[low].transport.remote[1] == 3888


def test_a_frozen_server_is_not_waited_for(world):
    world.start(1, 2, 3)
    world.voters[3].process.freeze()
    world.run(5)
    assert world.leaders() == {1: 2, 2: 2, 3: None}
    world.voters[3].process.thaw()
    world.run(70)
    assert set(world.leaders().values()) == {2}


def test_an_observer_finds_the_leader_without_a_vote():
    world = World(voters=3, observers=1)
    world.start(4, zxid=0x900000000, epoch=9)
    world.run(2)
    assert world.leaders() == {4: None}
    world.start(1, 2, 3)
    world.run(10)
    assert set(world.leaders().values()) == {3}
    assert world.voters[4].state == OBSERVING
    world.simulator.close()


@pytest.mark.parametrize("seed", range(10))
def test_all_agree_however_often_they_look_again(seed):
    world = World(seed, voters=5)
    world.start(1, 2, 3, 4, 5)
    choose = world.simulator.random("test")
    for _ in range(5):
        world.run(choose.random() * 2)
        for server_id in choose.sample([1, 2, 3, 4, 5], 2):
            if choose.random() < 0.5:
                world.kill(server_id)
                world.start(server_id)
            else:
                world.voters[server_id].look()
    for voter in world.voters.values():
        voter.look()
    world.run(200)
    assert len(set(world.leaders().values())) == 1
    assert None not in world.leaders().values()
    world.simulator.close()
