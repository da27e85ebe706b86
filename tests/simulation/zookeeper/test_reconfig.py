"""Members come and go while an ensemble serves clients, on virtual time."""

import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.quorum.quorum_verifier import JointVerifier
from rumpus.simulation.zookeeper.quorum.zab_invariants import InvariantViolation
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.access_control import digest_id
from tests.simulation.zookeeper.ensemble import Ensemble

CONFIG = "/zookeeper/config"


class Ensembles(Ensemble):
    """An ensemble whose members clients may change."""

    def __init__(self, count=3, seed=1, **settings):
        super().__init__(count, seed, **{"reconfig": True, "skip_acl": True, **settings})

    def add(self, role="participant"):
        """A server that is no member yet, and follows."""
        member = self.cluster.add(role)
        self.nodes = self.cluster.nodes
        self.cluster.start([member.host])
        self.wait_for(self.serving(member.host))
        return member

    def configuration(self, node):
        text = self.session(node).call(op.get_data(CONFIG)).value[0].decode()
        *lines, version = text.split("\n")
        return lines, int(version.removeprefix("version="), 16)

    def names(self):
        return [member.host for member in self.cluster.members()]

    def peer(self, node):
        return self.cluster.programs[node].peer


def line(number, role="participant"):
    return str(Member(number, f"n{number}", role=role))


@pytest.fixture
def world():
    world = Ensembles()
    yield world
    world.tear_down()


def change(client, **how):
    reply = client.call(op.reconfig(**how))
    assert reply.error == 0, reply.error
    return reply.value


def test_a_follower_joins_and_votes(world):
    member = world.add()
    assert world.names() == ["n1", "n2", "n3"]
    assert world.cluster.mode("n4") == "follower"
    assert "zk_synced_non_voting_followers\t1\n" in world.word("mntr", "n3")
    client = world.session("n1")
    text, stat = change(client, joining=str(member))
    assert text.decode().split("\n")[3:] == [line(4), f"version={stat.mzxid:x}"]
    assert stat.version == -1
    world.run_for(500)
    assert world.names() == ["n1", "n2", "n3", "n4"]
    assert "zk_synced_non_voting_followers\t0\n" in world.word("mntr", "n3")
    for node in world.nodes:
        assert world.configuration(node) == ([line(n) for n in (1, 2, 3, 4)], stat.mzxid)
    world.kill("n1")
    client = world.session("n4")
    assert client.call(op.create("/three-of-four", b"")).error == 0
    world.kill("n2")
    world.run_for(2000)
    assert not any(map(world.cluster.serves, world.nodes)), "two of four are no quorum"


def test_an_observer_joins(world):
    member = world.add("observer")
    assert world.cluster.mode("n4") == "follower", "no member yet, it follows without a vote"
    client = world.session("n1")
    change(client, joining=str(member))
    world.wait_for(lambda: world.cluster.mode("n4") == "observer")
    assert world.configuration("n4")[0] == [line(1), line(2), line(3), line(4, "observer")]
    assert client.call(op.create("/a", b"")).error == 0
    world.run_for(100)
    assert world.session("n4").call(op.exists("/a")).error == 0
    world.kill("n4")
    world.kill("n2")
    assert client.call(op.create("/two-of-three", b"")).error == 0


def test_who_leaves_follows_without_a_vote(world):
    client = world.session("n2")
    change(client, leaving="1")
    world.run_for(100)
    assert world.names() == ["n2", "n3"]
    assert world.cluster.mode("n1") == "follower"
    assert world.session("n1").call(op.create("/through-n1", b"")).error == 0
    world.cluster.restart("n1")
    world.wait_for(world.serving("n1"))
    assert world.configuration("n1")[0] == [line(2), line(3)]
    world.kill("n2")
    world.run_for(10_000)
    assert not any(map(world.cluster.serves, world.nodes)), "one of two is no quorum"


def test_a_leader_that_leaves_hands_over(world):
    world.simulator.trace._keep = True
    assert world.cluster.leader() == "n3"
    client = world.session("n1")
    assert client.call(op.create("/before", b"")).error == 0
    change(client, leaving="3")
    world.wait_for(lambda: world.cluster.leader() in {"n1", "n2"})
    world.wait_for(world.serving("n1", "n2", "n3"))
    assert world.cluster.mode("n3") == "follower"
    assert world.names() == ["n1", "n2"]
    assert world.reasons("n1") == ["a reconfiguration changes roles"], "no election"
    for node in world.nodes:
        client = world.session(node)
        assert client.call(op.exists("/before")).error == 0
        assert client.call(op.create(f"/{node}", b"")).error == 0


def test_roles_change_there_and_back(world):
    client = world.session("n2", 20_000)
    change(client, joining=line(1, "observer"))
    world.wait_for(lambda: world.cluster.mode("n1") == "observer")
    assert world.peer("n3").verifier.majority == 2
    change(client, joining=line(1))
    world.wait_for(lambda: world.cluster.mode("n1") == "follower")
    world.kill("n2")
    assert world.session("n1").call(op.create("/n1-votes", b"")).error == 0


def test_a_leader_becomes_an_observer(world):
    change(world.session("n1"), joining=line(3, "observer"))
    world.wait_for(lambda: world.cluster.mode("n3") == "observer")
    world.wait_for(world.serving("n1", "n2"))
    assert world.session("n3").call(op.create("/a", b"")).error == 0


def test_one_at_a_time(world):
    first, second = world.session("n1"), world.session("n2")
    followers = ("n1", "n2")
    leading = world.session("n3")
    for node in followers:
        world.pause(node)
    leading.send(op.reconfig(leaving="1"))
    leading.send(op.reconfig(joining=line(1, "observer")))
    world.run_for(200)
    for node in followers:
        world.resume(node)
    assert [leading.receive().error for _ in range(2)] == [0, -14]
    assert first.call(op.reconfig(joining=line(1))).error == 0
    assert second.call(op.exists("/")).error == 0


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_what_is_refused(world, node):
    """The order is that of ``PrepRequestProcessor``: version, format, quorum."""
    client = world.session(node)
    before = world.configuration(node)
    away = f"{line(4)},{line(5)}"
    assert client.call(op.reconfig(joining="nonsense", version=7)).error == -103
    assert client.call(op.reconfig(joining="nonsense")).error == -8
    assert client.call(op.reconfig(leaving="1,2")).error == -8
    assert client.call(op.reconfig(joining=away, leaving="1")).error == -13
    assert client.call(op.reconfig(new_members=f"{line(3)},{line(4)},{line(5)}")).error == -13
    assert client.call(op.set_data(CONFIG, b"", -1)).error == 0, "the list of rights is skipped"
    assert world.peer("n3").last_seen is world.peer("n3").verifier
    assert client.call(op.reconfig(leaving="1", version=before[1])).error == 0


def test_an_observer_does_not_count_before_it_votes():
    world = Ensembles(2, observers=2)
    client = world.session("n1")
    assert client.call(op.reconfig(joining=f"{line(3)},{line(4)}")).error == -13
    change(client, joining=line(3))
    world.wait_for(lambda: world.cluster.mode("n3") == "follower")
    change(client, joining=line(4))
    world.tear_down()


def test_reconfiguration_is_off_by_default():
    world = Ensembles(reconfig=False)
    for node in world.nodes:
        assert world.session(node).call(op.reconfig(leaving="1")).error == -123
    assert world.configuration("n1")[1] == 0
    assert not world.cluster.disks["n1"].list("zoo.cfg")
    world.tear_down()


def test_only_who_may_write_the_configuration_changes_it():
    world = Ensembles(skip_acl=False, super_digest=digest_id(b"super:secret"))
    client = world.session("n1")
    assert client.call(op.reconfig(leaving="1", version=7)).error == -103
    assert client.call(op.reconfig(leaving="1")).error == -102
    assert world.names() == ["n1", "n2", "n3"]
    client.send(op.auth("digest", b"super:secret"))
    assert client.receive().error == 0
    change(client, leaving="1")
    world.tear_down()


def test_all_members_anew(world):
    world.add()
    change(world.session("n2"), new_members=f"{line(4)}\n{line(2)}\n{line(3)}")
    world.run_for(200)
    assert world.names() == ["n2", "n3", "n4"]


def test_the_files_outlive_the_servers(world):
    _, stat = change(world.session("n1"), leaving="1")
    world.run_for(100)
    for node in world.nodes:
        disk = world.cluster.disks[node]
        assert disk.list("zoo.cfg")[-1] == f"zoo.cfg.dynamic.{stat.mzxid:x}"
        text = disk.read(f"zoo.cfg.dynamic.{stat.mzxid:x}").decode()
        assert text.split("\n") == [line(2), line(3)]
        world.cluster.power_off(node)
    world.start_nodes("n2", "n3")
    world.wait_for(world.serving("n2", "n3"))
    assert world.configuration("n2") == ([line(2), line(3)], stat.mzxid)


def test_commits_need_quorums_of_both_configurations(world):
    lines = [str(world.add()), str(world.add())]
    away = ("n2", "n4", "n5")
    leading, other = world.session("n3"), world.session("n3")
    for node in away:
        world.pause(node)
    leading.send(op.reconfig(joining=",".join(lines)))
    world.run_for(50)
    other.send(op.create("/a", b""))
    world.run_for(450)
    assert world.names() == ["n1", "n2", "n3"]
    world.resume("n4")
    assert leading.receive().error == 0
    assert other.receive().error == 0
    assert world.names() == ["n1", "n2", "n3", "n4", "n5"]


def test_the_next_leader_completes_what_it_has_seen(world):
    line_of_4 = str(world.add())
    client = world.session("n3")
    for node in ("n1", "n2", "n4"):
        world.network.cut(node, "n3")  # they log it, and cannot say so
    client.send(op.reconfig(joining=line_of_4))
    world.run_for(100)
    for node in world.nodes:
        assert world.cluster.disks[node].exists("zoo.cfg.dynamic.next")
    assert world.names() == ["n1", "n2", "n3"]
    world.kill("n3")
    world.heal()
    world.wait_for(lambda: world.names() == ["n1", "n2", "n3", "n4"], 60)
    world.wait_for(world.serving("n1", "n2", "n4"), 60)
    for node in ("n1", "n2", "n4"):
        assert len(world.configuration(node)[0]) == 4
        assert not world.cluster.disks[node].exists("zoo.cfg.dynamic.next")


def propose_to_no_one(world, leader, others):
    client = world.session(leader)
    for node in others:
        world.network.cut(leader, node)
        world.network.cut(node, leader)
    client.send(op.reconfig(leaving="1"))
    world.run_for(100)
    assert world.peer(leader).last_seen.version > world.peer(leader).verifier.version
    world.wait_for(lambda: world.cluster.leader() in others, 60)
    world.wait_for(lambda: not world.cluster.serves(leader), 60)
    world.heal()


def test_what_only_the_old_leader_has_seen_is_undone():
    world = Ensembles(4)
    propose_to_no_one(world, "n4", ("n1", "n2", "n3"))
    world.wait_for(world.serving(*world.nodes), 120)
    peer = world.peer("n4")
    assert peer.last_seen.version == peer.verifier.version
    assert world.configuration("n4")[0] == [line(1), line(2), line(3), line(4)]
    change(world.session("n4"), leaving="1")
    world.tear_down()


def test_an_old_leader_whose_proposal_needs_its_own_vote_stays_out(world):
    """As in 3.8.0: it joins whom quorums of both configurations follow, and of two it is one."""
    propose_to_no_one(world, "n3", ("n1", "n2"))
    world.run_for(130_000)
    assert not world.cluster.serves("n3")
    assert world.session("n1").call(op.create("/a", b"")).error == 0


def test_watches_tell_of_other_members_on_every_server(world):
    clients = [world.session(node) for node in world.nodes]
    for client in clients:
        assert client.call(op.get_data(CONFIG, watch=True)).error == 0
    _, stat = change(world.session("n2"), joining=line(1, "participant").replace("2181", "2182"))
    for client in clients:
        assert [event.path for event in client.await_events(1)] == [CONFIG]
    assert stat.version == -1


def test_clients_connect_where_the_configuration_says(world):
    change(world.session("n2"), joining=line(1).replace("2181", "2182"))
    world.run_for(200)
    with pytest.raises(ConnectionRefusedError):
        world.connect("n1")


def test_writes_go_on_meanwhile(world):
    members = [str(world.add()), str(world.add())]
    writer, operator = world.session("n2"), world.session("n2")
    paths = []
    for joining, leaving in [(members[0], None), (members[1], "1"), (line(1), "4")]:
        for _ in range(30):
            paths.append(f"/{len(paths)}")
            writer.send(op.create(paths[-1], b"x"))
        operator.send(op.reconfig(joining, leaving))
        for _ in range(30):
            assert writer.receive().error == 0
        assert operator.receive().error == 0
    world.run_for(200)
    for node in world.nodes:
        known = world.session(node).call(op.get_children("/")).value
        assert {path[1:] for path in paths} <= set(known)


def test_a_leader_that_forgets_the_new_quorum_is_found_out(monkeypatch):
    monkeypatch.setattr(
        JointVerifier, "is_quorum", lambda joint, mask: joint.current.is_quorum(mask)
    )
    with pytest.raises(InvariantViolation, match="have logged"):
        test_commits_need_quorums_of_both_configurations(Ensembles())


def test_a_standalone_server_takes_no_members_in():
    world = Ensembles(1)
    assert world.session("n1").call(op.reconfig(leaving="1")).error == -6
    with pytest.raises(ValueError, match="standalone"):
        world.cluster.add()
    world.tear_down()
