"""What clients and operators see of an ensemble; numbers are those of the conformance checks."""

import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed
from rumpus.simulation.zookeeper.quorum.quorum_packets import DIFF, SNAP, TRUNC
from tests.simulation.zookeeper.ensemble import Ensemble


@pytest.fixture
def world():
    world = Ensemble()
    yield world
    world.tear_down()


def modes(world):
    return {node: world.cluster.mode(node) for node in world.nodes}


def epochs(world, node):
    files = world.files(node)
    return files["acceptedEpoch"], files["currentEpoch"]


def shown_zxid(world, node):
    line = next(one for one in world.word("srvr", node).splitlines() if one.startswith("Zxid"))
    return int(line.split()[1], 16)


def value(client, path):
    reply = client.call(op.get_data(path))
    assert reply.error == 0
    return reply.value[0]


def syncs(world):
    """(server, kind) of each synchronization of a learner."""
    return [
        (entry[1], entry[2])
        for entry in world.simulator.trace.kept
        if isinstance(entry, tuple) and entry[0] == "sync"
    ]


def test_84_the_highest_id_of_a_fresh_ensemble_leads(world):
    assert modes(world) == {"n1": "follower", "n2": "follower", "n3": "leader"}
    for node in world.nodes:
        assert epochs(world, node) == (b"1", b"1")
    assert shown_zxid(world, "n3") == 0x100000000
    assert shown_zxid(world, "n1") == shown_zxid(world, "n2") == 0
    world.session("n1").call(op.create("/a"))
    world.run_for(100)
    assert shown_zxid(world, "n1") == shown_zxid(world, "n3") == 0x100000002


def test_85_sessions_are_named_after_their_server(world):
    assert world.session("n1").session >> 56 == 1
    assert world.session("n3").session >> 56 == 3


def test_86_a_follower_answers_as_a_single_server_does(world):
    client = world.session("n1")
    assert client.session
    created = client.call(op.create("/a"))
    assert created.error == 0
    assert client.call(op.exists("/a")).value.czxid == created.zxid == 0x100000002
    assert client.call(op.create("/a")).error == -110
    assert client.call(op.create("/no/b")).error == -101
    assert client.call(op.create("/c", acl=[])).error == -114
    assert client.call(op.set_data("/a", b"x", 7)).error == -103
    assert client.call(op.exists("/a")).zxid == 0x100000006


def test_87_an_unknown_operation_on_a_follower(world):
    client = world.session("n1")
    reply = client.call(op.Operation(99, b"", lambda _: None))
    assert (reply.zxid, reply.error) == (-1, -6)
    assert client.closed_silently()


def test_88_a_moved_session_writes_only_where_it_has_moved_to(world):
    old = world.session("n1")
    assert old.call(op.create("/a", b"first")).error == 0
    new = world.reattach(old, "n2")
    assert old.call(op.exists("/a")).error == 0
    assert old.call(op.ping()).error == 0
    assert old.call(op.sync("/a")).error == 0
    assert new.call(op.set_data("/a", b"new")).error == 0
    with pytest.raises(Closed):
        old.call(op.set_data("/a", b"old"))
    assert value(new, "/a") == b"new"
    assert new.call(op.set_data("/a", b"newer")).error == 0


@pytest.mark.parametrize("timeout", [1000, 1700, 2500])
def test_89_an_idle_session_on_a_follower_ends(world, timeout):
    client = world.session("n1", timeout_ms=timeout)
    world.run_for(100)
    start = world.clock.now()
    assert client.closed_silently(within=10)
    assert timeout / 1000 - 0.1 < world.clock.now() - start <= timeout / 1000 + 0.5 + 0.25 + 0.01
    refused = world.connect("n2")
    assert not refused.handshake(session=client.session, password=client.password).valid


def test_a_session_on_a_follower_lives_by_its_pings(world):
    client = world.session("n1", timeout_ms=1000)
    for _ in range(30):
        world.run_for(600)
        assert client.call(op.ping()).error == 0
    assert client.closed_silently(within=3)


def test_90_a_client_that_has_seen_more_is_not_served(world):
    client = world.connect("n1")
    with pytest.raises(Closed):
        client.handshake(last_zxid=0x100000001)


def test_91_sessions_survive_the_leader(world):
    client = world.session("n1", timeout_ms=10_000)
    assert client.call(op.create("/e", flags=1)).error == 0
    start = world.clock.now()
    world.kill("n3")
    assert client.closed_silently(within=1)
    assert world.clock.now() - start < 0.01
    world.run_for(1000)
    assert sorted(modes(world).items()) == [("n1", "follower"), ("n2", "leader"), ("n3", None)]
    again = world.reattach(client, "n2")
    assert again.call(op.exists("/e")).value.ephemeral_owner == client.session
    assert again.call(op.create("/new")).zxid == 0x200000001
    assert epochs(world, "n1") == epochs(world, "n2") == (b"2", b"2")
    assert epochs(world, "n3") == (b"1", b"1")


def test_a_new_leader_is_there_less_than_half_a_second_after_the_old_one_is_killed(world):
    world.kill("n3")
    world.run_for(400)
    assert modes(world) == {"n1": "follower", "n2": "leader", "n3": None}


def test_92_the_old_leader_comes_back_as_a_follower():
    world = Ensemble(keep_trace=True)
    client = world.session("n1")
    client.call(op.create("/a"))
    world.kill("n3")
    world.run_for(1000)
    world.session("n1").call(op.create("/b"))
    world.start_nodes("n3")
    world.run_for(1000)
    assert world.cluster.mode("n3") == "follower"
    assert syncs(world)[-1] == (3, DIFF)
    assert shown_zxid(world, "n3") == 0x200000002
    assert value(world.session("n3"), "/b") == b""
    world.tear_down()


def test_93_94_a_write_without_a_quorum_is_neither_answered_nor_lost(world):
    world.kill("n1")
    client = world.session("n3")
    world.pause("n2")
    start = world.clock.now()
    client.send(op.create("/pending"))
    assert client.closed_silently(within=10)
    assert 2.5 < world.clock.now() - start < 3.6
    assert world.word("ruok", "n3") == "imok"
    assert "not currently serving" in world.word("srvr", "n3")
    assert world.word("isro", "n3") == "null"
    with pytest.raises(Closed):
        world.connect("n3").handshake()
    world.resume("n2")
    world.start_nodes("n1")
    world.run_for(10_000)
    for node in world.nodes:
        assert world.session(node).call(op.exists("/pending")).error == 0


def test_95_the_configuration_can_be_read(world):
    reply = world.session("n1").call(op.get_data("/zookeeper/config"))
    data, stat = reply.value
    assert data == (
        b"server.1=n1:2888:3888:participant;0.0.0.0:2181\n"
        b"server.2=n2:2888:3888:participant;0.0.0.0:2181\n"
        b"server.3=n3:2888:3888:participant;0.0.0.0:2181\nversion=0"
    )
    assert stat.version == -1


def discard_a_write(world):
    """A write that only the log of the old leader n3 has, while n1 and n2 serve without it."""
    client = world.session("n3")
    assert client.call(op.create("/k", b"old")).error == 0
    world.kill("n1")
    world.kill("n2")
    client.send(op.set_data("/k", b"discarded"))
    world.run_for(100)
    world.kill("n3")
    world.start_nodes("n1", "n2")
    world.run_for(3000)


def test_97_after_a_write_of_the_new_epoch_the_old_leader_gets_a_snapshot():
    world = Ensemble(keep_trace=True)
    discard_a_write(world)
    reader = world.session("n1")
    assert value(reader, "/k") == b"old"
    assert reader.call(op.set_data("/k", b"new")).error == 0
    before = world.files("n3")["log.100000001"]
    world.start_nodes("n3")
    world.run_for(2000)
    assert syncs(world)[-1] == (3, SNAP)
    assert value(world.session("n3"), "/k") == b"new"
    assert world.files("n3")["log.100000001"] == before
    assert b"discarded" in before
    world.tear_down()


def test_96_without_a_write_of_the_new_epoch_the_old_leader_is_truncated():
    world = Ensemble(keep_trace=True)
    discard_a_write(world)
    assert b"discarded" in world.files("n3")["log.100000001"]
    world.start_nodes("n3")
    world.run_for(2000)
    assert syncs(world)[-1] == (3, TRUNC)
    assert b"discarded" not in world.files("n3")["log.100000001"]
    assert "snapshot.100000002" in world.files("n3")
    assert value(world.session("n3"), "/k") == b"old"
    world.tear_down()


def test_98_a_paused_follower_logs_what_waits_in_its_socket(world):
    client = world.session("n3")
    assert client.call(op.create("/k", b"old")).error == 0
    world.pause("n1")
    world.pause("n2")
    client.send(op.set_data("/k", b"survives"))
    world.run_for(100)
    world.kill("n3")
    world.resume("n1")
    world.resume("n2")
    world.run_for(5000)
    assert value(world.session("n1"), "/k") == b"survives"


def test_99_a_learner_far_behind_gets_a_snapshot():
    world = Ensemble(keep_trace=True)
    world.kill("n1")
    client = world.session("n3")
    client.call(op.create("/k"))
    for number in range(600):
        client.send(op.set_data("/k", b"%d" % number))
    for _ in range(600):
        client.receive()
    world.start_nodes("n1")
    world.run_for(2000)
    assert syncs(world)[-1] == (1, SNAP)
    assert value(world.session("n1"), "/k") == b"599"
    world.tear_down()


def test_100_a_stopped_follower_shows_the_past(world):
    writer, reader = world.session("n3"), world.session("n1")
    writer.call(op.create("/k", b"old"))
    world.run_for(100)
    seen = reader.call(op.get_data("/k"))
    world.pause("n1")
    reader.send(op.get_data("/k"))
    assert writer.call(op.set_data("/k", b"new")).error == 0
    world.run_for(100)
    world.resume("n1")
    first = reader.receive()
    second = reader.call(op.get_data("/k"))
    assert first.value[0] in {b"old", b"new"}
    assert seen.zxid <= first.zxid <= second.zxid
    assert second.value[0] == b"new"


def test_a_read_never_overtakes_the_sessions_own_write(world):
    client = world.session("n1")
    client.call(op.create("/k", b"0"))
    for number in range(1, 50):
        client.send(op.set_data("/k", b"%d" % number))
        client.send(op.get_data("/k"))
    for number in range(1, 50):
        assert client.receive().error == 0
        assert client.receive().value[0] == b"%d" % number


def test_a_sync_on_a_follower_brings_what_the_leader_has_committed(world):
    writer, reader = world.session("n3"), world.session("n1")
    writer.call(op.create("/k", b"0"))
    world.network.delay("n3", "n1", 50_000_000)
    for number in range(20):
        writer.call(op.set_data("/k", b"%d" % number))
        assert reader.call(op.sync("/k")).error == 0
        assert value(reader, "/k") == b"%d" % number


def test_a_leader_cut_off_gives_up_and_follows_the_new_one(world):
    for other in ("n1", "n2"):
        world.network.cut("n3", other)
        world.network.cut(other, "n3")
    world.run_for(6000)
    assert modes(world) == {"n1": "follower", "n2": "leader", "n3": None}
    world.heal()
    world.run_for(60_000)
    assert modes(world) == {"n1": "follower", "n2": "leader", "n3": "follower"}


def test_a_follower_with_a_disk_that_hangs_is_dropped(world):
    world.cluster.disks["n1"].slow(extra=20_000_000_000)
    client = world.session("n3")
    assert client.call(op.create("/k")).error == 0
    world.run_for(4000)
    assert modes(world) == {"n1": None, "n2": "follower", "n3": "leader"}


def test_a_failing_disk_ends_the_server(world):
    world.cluster.disks["n1"].fail_sync()
    world.session("n3").call(op.create("/k"))
    world.run_for(1000)
    assert not world.running("n1")
    assert "disk fails" in world.cluster.exit_reason("n1")


def test_observers_serve_and_do_not_vote():
    world = Ensemble(3, observers=1)
    assert modes(world)["n4"] == "observer"
    client = world.session("n4")
    assert client.session >> 56 == 4
    assert client.call(op.create("/k", b"x")).error == 0
    assert value(client, "/k") == b"x"
    assert client.call(op.sync("/k")).error == 0
    world.kill("n3")
    world.run_for(2000)
    assert modes(world) == {"n1": "follower", "n2": "leader", "n3": None, "n4": "observer"}
    world.kill("n2")
    world.run_for(20_000)
    assert modes(world)["n4"] is None
    world.tear_down()


def test_a_server_alone_serves_reads_if_it_may():
    world = Ensemble(3, read_only_mode=True)
    world.session("n1").call(op.create("/k", b"x"))
    world.kill("n2")
    world.kill("n3")
    world.run_for(5000)
    assert modes(world)["n1"] == "read-only"
    with pytest.raises(Closed):
        world.connect("n1").handshake(read_only=False)
    client = world.session("n1", read_only=True)
    assert value(client, "/k") == b"x"
    assert client.call(op.set_data("/k", b"y")).error == -119
    world.start_nodes("n2")
    assert client.closed_silently(within=60)
    world.run_for(5000)
    assert world.session("n1").call(op.set_data("/k", b"y")).error == 0
    world.tear_down()


def test_the_leader_counts_its_learners_and_proposals():
    world = Ensemble(3, observers=1, four_letter_words=frozenset({"mntr", "srvr"}))
    assert "Proposal sizes last/min/max: -1/-1/-1" in world.word("srvr", "n3")
    client = world.session("n1")
    client.call(op.create("/small"))
    client.call(op.create("/large", b"x" * 1000))
    shown = dict(line.split("\t") for line in world.word("mntr", "n3").splitlines())
    assert shown["zk_learners"] == "3"
    assert shown["zk_synced_followers"] == "2"
    assert shown["zk_synced_observers"] == "1"
    sizes = [int(shown[f"zk_{which}_proposal_size"]) for which in ("min", "last", "max")]
    assert 0 < sizes[0] < 100
    assert 1000 < sizes[1] == sizes[2]
    world.tear_down()
