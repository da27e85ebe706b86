from rumpus.conformance import operations as op
from rumpus.simulation.kernel.simulator import MILLISECOND
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE
from tests.simulation.zookeeper.mutants.elections import kill_leader


def test_a_write_that_no_follower_has_logged(ensemble, faulty):
    world = ensemble("commits-alone")
    client = world.session("n3")
    for node in ("n1", "n2"):
        world.pause(node)
    client.send(op.create("/k"))
    assert client.quiet(0.3) != faulty


def test_a_write_that_only_the_dead_leader_knew(ensemble, faulty):
    world = ensemble("commits-alone")
    client = world.session("n3")
    client.call(op.create("/before"))
    for node in ("n1", "n2"):
        world.network.cut("n3", node)
    client.send(op.create("/k"))
    assert client.quiet(0.3) != faulty
    kill_leader(world)
    world.network.heal()
    other = world.session("n1")
    assert other.call(op.exists("/before")).error == 0
    assert other.call(op.exists("/k")).error == NO_NODE


def test_a_follower_shows_what_is_not_committed(ensemble, faulty):
    world = ensemble("shown-proposals")
    writer, reader = world.session("n2"), world.session("n1")
    writer.call(op.create("/k", b"old"))
    reader.call(op.sync("/k"))
    for node in world.nodes:
        world.cluster.disks[node].slow(extra=300 * MILLISECOND)
    writer.send(op.set_data("/k", b"new"))
    world.run_for(100)
    assert reader.call(op.get_data("/k")).value[0] == (b"new" if faulty else b"old")
    assert writer.receive().error == 0
    data, stat = reader.call(op.get_data("/k")).value
    assert (data, stat.version) == (b"new", 1)


def test_the_last_change_in_the_log_is_forgotten(standalone, faulty):
    world = standalone("last-of-log-forgotten")
    client = world.session()
    for path in ("/a", "/b"):
        client.call(op.create(path))
    world.cluster.restart("n1")
    world.run_for(1000)
    client = world.session(last_zxid=client.last_zxid)
    assert client.call(op.exists("/a")).error == 0
    assert client.call(op.exists("/b")).error == (NO_NODE if faulty else 0)
    assert client.call(op.create("/c")).error == 0
    assert client.call(op.exists("/c")).error == 0
