from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE
from tests.simulation.zookeeper.mutants.elections import kill_leader


def test_an_ephemeral_node_of_a_multi_outlives_its_session(ensemble, faulty):
    world = ensemble("ephemerals-of-multi")
    client = world.session("n1")
    client.call(op.create("/plain", flags=op.EPHEMERAL))
    client.call(op.multi([op.create("/m", flags=op.EPHEMERAL)]))
    client.call(op.multi([op.create("/failed", flags=op.EPHEMERAL), op.delete("/missing")]))
    client.call(op.create("/failed", flags=op.EPHEMERAL))
    assert client.call(op.exists("/m")).value.ephemeral_owner == client.session
    other = world.session("n1")
    for _ in range(100):  # so that the create is applied long ago
        other.call(op.set_data("/", b""))
    assert client.close_session().error == 0
    assert other.call(op.exists("/plain")).error == NO_NODE
    assert other.call(op.exists("/failed")).error == NO_NODE
    assert other.call(op.exists("/m")).error == (0 if faulty else NO_NODE)
    kill_leader(world)
    for node in ("n1", "n2"):
        found = world.session(node).call(op.exists("/m")).error
        assert found == (0 if faulty else NO_NODE)


def test_some_ephemeral_nodes_are_persistent(standalone, faulty):
    world = standalone("persistent-ephemerals")
    client = world.session()
    paths = [client.call(op.create("/e", flags=op.EPHEMERAL_SEQUENTIAL)).value for _ in range(20)]
    owners = [client.call(op.exists(path)).value.ephemeral_owner for path in paths]
    assert owners.count(0) == (2 if faulty else 0)
    assert client.close_session().error == 0
    other = world.session()
    left = [path for path in paths if other.call(op.exists(path)).error == 0]
    assert left == [path for path, owner in zip(paths, owners, strict=True) if owner == 0]


def test_one_of_several_ephemeral_nodes_stays(ensemble, faulty):
    world = ensemble("one-ephemeral-left")
    client, single = world.session("n1"), world.session("n1")
    single.call(op.create("/single", flags=op.EPHEMERAL))
    for path in ("/a", "/b", "/c"):
        client.call(op.create(path, flags=op.EPHEMERAL))
    client.close_session()
    single.close_session()
    other = world.session("n1")
    left = [p for p in ("/a", "/b", "/c", "/single") if other.call(op.exists(p)).error == 0]
    assert len(left) == (1 if faulty else 0)
    assert "/single" not in left
