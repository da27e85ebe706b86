from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import (
    NO_CHILDREN_FOR_EPHEMERALS,
    NO_NODE,
    NOT_EMPTY,
)


def test_children_without_a_parent(standalone, faulty):
    world = standalone("orphaned-children")
    client = world.session()
    client.call(op.create("/p"))
    client.call(op.create("/p/c"))
    client.call(op.create("/p/e", flags=op.EPHEMERAL))
    assert client.call(op.delete("/p")).error == (0 if faulty else NOT_EMPTY)
    assert client.call(op.exists("/p")).error == (NO_NODE if faulty else 0)
    assert client.call(op.exists("/p/c")).error == 0
    assert client.close_session().error == 0
    assert world.session().call(op.exists("/p/c")).error == 0
    assert world.session().call(op.exists("/p/e")).error == (0 if faulty else NO_NODE)


def test_children_that_go_with_their_parent(ensemble, faulty):
    world = ensemble("recursive-delete")
    client = world.session("n1")
    for path in ("/p", "/p/c", "/p/c/d", "/pc"):
        client.call(op.create(path))
    assert client.call(op.delete("/p", 3)).error != 0
    assert client.call(op.exists("/p/c/d")).error == 0
    assert client.call(op.delete("/p")).error == (0 if faulty else NOT_EMPTY)
    for path in ("/p", "/p/c", "/p/c/d"):
        assert client.call(op.exists(path)).error == (NO_NODE if faulty else 0)
    assert client.call(op.exists("/pc")).error == 0
    assert client.call(op.create("/k")).error == 0
    tree = world.cluster.programs["n3"].server.database.tree
    newest = world.cluster.programs["n3"].server.database.committed_log[-1]
    assert newest.digest == tree.digest()


def test_a_child_of_an_ephemeral_node(standalone, faulty):
    world = standalone("children-of-ephemerals")
    client = world.session()
    client.call(op.create("/e", flags=op.EPHEMERAL))
    refusal = 0 if faulty else NO_CHILDREN_FOR_EPHEMERALS
    assert client.call(op.create("/e/c")).error == refusal
    assert client.call(op.create("/e/d", flags=op.EPHEMERAL)).error == refusal
    assert client.close_session().error == 0
    other = world.session()
    assert other.call(op.exists("/e")).error == NO_NODE
    assert other.call(op.exists("/e/c")).error == (0 if faulty else NO_NODE)
    assert other.call(op.exists("/e/d")).error == NO_NODE
