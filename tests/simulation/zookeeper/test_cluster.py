import pytest

from rumpus.conformance import operations as op
from rumpus.simulation.kernel.simulator import Simulator
from rumpus.simulation.network.network import Network
from rumpus.simulation.zookeeper.cluster import Cluster
from tests.simulation.zookeeper.raw_client import World


def done(reply):
    assert reply.error == 0
    return reply.value


@pytest.fixture
def world():
    world = World(3, tick_time=500)
    world.start()
    yield world
    world.tear_down()


def until(world, condition, within_ms=30_000):
    for _ in range(within_ms // 10):
        if condition():
            return
        world.run_for(10)
    raise AssertionError({node: world.cluster.mode(node) for node in world.nodes})


def test_a_cluster_has_nodes_with_addresses_and_none_runs_at_first():
    simulator = Simulator(1)
    cluster = Cluster(simulator, Network(simulator), 2, observers=1, client_port=2999)
    assert cluster.nodes == ("n1", "n2", "n3")
    assert cluster.addresses == (("n1", 2999), ("n2", 2999), ("n3", 2999))
    assert [cluster.running(node) for node in cluster.nodes] == [False] * 3
    assert cluster.leader() is None
    assert cluster.zxid("n1") == 0
    members = cluster.programs["n2"].settings.members
    assert [(m.server_id, m.host, m.role) for m in members] == [
        (1, "n1", "participant"),
        (2, "n2", "participant"),
        (3, "n3", "observer"),
    ]
    with pytest.raises(ValueError, match="at least one"):
        Cluster(simulator, Network(simulator), 0)


def test_one_server_is_standalone_and_an_observer_makes_an_ensemble():
    alone = World()
    alone.start()
    assert (alone.cluster.mode("n1"), alone.cluster.leader()) == ("standalone", None)
    together = World(1, observers=1)
    together.start()
    modes = [together.cluster.mode(node) for node in together.nodes]
    assert modes == ["leader", "observer"]


def test_what_one_server_takes_all_serve(world):
    leader = world.cluster.leader()
    assert leader == "n3"
    clients = [world.session(node) for node in world.nodes]
    assert [client.session >> 56 for client in clients] == [1, 2, 3]
    reply = clients[0].call(op.create("/a", b"1"))
    done(reply)
    for client in clients:
        done(client.call(op.sync("/")))
        assert done(client.call(op.get_data("/a")))[0] == b"1"
    assert {world.cluster.zxid(node) for node in world.nodes} == {reply.zxid}


def test_a_killed_leader_is_replaced_and_comes_back_as_a_follower(world):
    client = world.session("n1")
    done(client.call(op.create("/e", flags=1)))
    world.cluster.kill("n3")
    assert client.closed_silently(within=1)
    until(world, lambda: world.cluster.leader() is not None)
    assert world.cluster.leader() == "n2"
    assert world.cluster.mode("n3") is None
    again = world.reattach(client, "n2")
    assert done(again.call(op.exists("/e"))).ephemeral_owner == client.session
    done(again.call(op.create("/b")))
    world.cluster.start(["n3"])
    until(world, lambda: world.cluster.mode("n3") == "follower")
    assert world.cluster.zxid("n3") == world.cluster.zxid("n2")
    assert world.cluster.leader() == "n2"


def test_a_server_without_a_quorum_answers_words_only(world):
    world.cluster.kill("n1")
    world.cluster.kill("n2")
    until(world, lambda: world.cluster.mode("n3") is None)
    assert world.cluster.running("n3")
    assert not world.cluster.serves("n3")
    assert world.word("ruok", "n3") == "imok"
    assert world.word("isro", "n3") == "null"
    assert world.word("srvr", "n3") == (
        "This ZooKeeper instance is not currently serving requests\n"
    )
    client = world.connect("n3")
    client.ask_for_session()
    assert client.closed_silently()


def test_a_paused_leader_does_not_serve_and_steps_down_when_it_goes_on(world):
    world.cluster.pause("n3")
    assert world.cluster.paused("n3")
    assert not world.cluster.serves("n3")
    until(world, lambda: world.cluster.leader() == "n2")
    assert world.cluster.mode("n3") == "leader"
    world.cluster.resume("n3")
    until(world, lambda: world.cluster.mode("n3") == "follower")
    assert not world.cluster.paused("n3")


def test_a_moved_session_is_closed_by_its_first_write_from_the_old_server(world):
    old = world.session("n1")
    done(old.call(op.create("/m")))
    new = world.reattach(old, "n2")
    done(old.call(op.exists("/m")))
    done(old.call(op.ping()))
    done(new.call(op.set_data("/m", b"new")))
    old.send(op.set_data("/m", b"old"))
    assert old.closed_silently()
    assert done(new.call(op.get_data("/m")))[0] == b"new"


def test_a_connection_that_a_session_has_left_is_closed_once_it_was_idle_for_the_timeout(world):
    old = world.session("n1", timeout_ms=4000)
    new = world.reattach(old, "n2", timeout_ms=4000)
    began = world.clock.now()
    for _ in range(8):
        world.run_for(1000)
        done(new.call(op.ping()))
        done(old.call(op.ping()))
    silent = world.clock.now()
    while not old.channel.over:
        world.run_for(500)
        done(new.call(op.ping()))
    assert 4 < world.clock.now() - silent <= 4 + 10 + 1
    assert silent - began > 8


def test_an_idle_session_of_a_follower_expires_everywhere(world):
    client = world.session("n1", timeout_ms=1000)
    watcher = world.session("n2")
    done(client.call(op.create("/e", flags=1)))
    began = world.clock.now()
    assert client.closed_silently(within=5)
    assert 1.0 < world.clock.now() - began <= 1.0 + 0.5 + 0.25 + 0.01
    done(watcher.call(op.sync("/")))
    assert watcher.call(op.exists("/e")).error == -101
    refused = world.connect("n3")
    assert not refused.handshake(session=client.session, password=client.password).valid


def test_leaders_and_followers_show_themselves_in_words(world):
    assert "Mode: follower\n" in world.word("srvr", "n1")
    world.session("n1").call(op.create("/a", b"x" * 50))
    world.run_for(10)
    leader = world.word("srvr", "n3")
    assert "Zxid: 0x100000002\nMode: leader\nProposal sizes last/min/max: " in leader
    shown = dict(line.split("\t") for line in world.word("mntr", "n3").splitlines())
    assert (shown["zk_server_state"], shown["zk_synced_followers"]) == ("leader", "2")
    assert "Global Sessions(1):\n" in world.word("dump", "n1")
    assert "Session Sets (1)/(1):\n" in world.word("dump", "n3")


def test_power_failures_lose_nothing_that_was_acknowledged():
    world = World(3, tick_time=500, seed=7)
    world.start()
    acknowledged = []
    for round_ in range(6):
        client = world.session(world.cluster.leader())
        acknowledged += [done(client.call(op.create(f"/r{round_}-{n}"))) for n in range(5)]
        client.send(op.create(f"/unsure-{round_}"))
        victim = world.nodes[round_ % 3]
        world.cluster.power_off(victim)
        assert not world.cluster.running(victim)
        until(world, lambda: world.cluster.leader() is not None)
        world.cluster.start()
        until(world, lambda: all(world.cluster.serves(node) for node in world.nodes))
    client = world.session("n1")
    done(client.call(op.sync("/")))
    children = done(client.call(op.get_children("/")))
    assert {path[1:] for path in acknowledged} <= set(children)


def test_a_server_whose_files_are_damaged_does_not_start(world):
    client = world.session("n1")
    done(client.call(op.create("/a", b"x" * 100)))
    world.cluster.kill("n1")
    disk = world.cluster.disks["n1"]
    (log,) = disk.list("version-2/log.")
    data = bytearray(disk.read(log))
    data[-10] ^= 1
    disk.write_whole(log, bytes(data))
    world.cluster.start(["n1"])
    assert not world.cluster.running("n1")
    assert "CRC" in (world.cluster.exit_reason("n1") or "")


def digest(seed):
    world = World(3, seed=seed, tick_time=500)
    world.start()
    clients = [world.session(node, timeout_ms=1000) for node in world.nodes]
    for number in range(10):
        for client in clients:
            client.send(op.create("/d-", str(number).encode(), flags=3))
    world.run_for(100)
    world.cluster.kill("n3")
    world.run_for(5000)
    world.cluster.start()
    world.run_for(5000)
    result = world.simulator.digest()
    world.tear_down()
    return result


def test_the_same_seed_gives_the_same_ensemble():
    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_an_idle_ensemble_costs_only_its_heartbeats():
    world = World(5)
    world.start()
    world.run_for(60_000)
    before = world.simulator.events
    world.run_for(600_000)
    # Every second each of 4 followers gets a ping and answers it.
    assert world.simulator.events - before < 600 * 15
