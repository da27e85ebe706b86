from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE, NODE_EXISTS
from tests.simulation.zookeeper.mutants.elections import kill_leader


def test_numbers_after_a_change_of_the_leader(ensemble, faulty):
    world = ensemble("sequence-of-epoch")
    client = world.session("n1")
    client.call(op.create("/s"))
    sequential = op.create("/s/n-", flags=op.SEQUENTIAL)
    for _ in range(3):
        client.call(op.delete(client.call(sequential).value))
    assert client.call(sequential).value == "/s/n-0000000003"
    client.call(op.delete("/s/n-0000000003"))
    kill_leader(world)
    client = world.session("n1")
    numbers = [int(client.call(sequential).value[-10:]) for _ in range(2)]
    assert numbers == ([0, 1] if faulty else [4, 5])


def test_paths_that_are_not_those_of_the_created_nodes(standalone, faulty):
    client = standalone("wrong-sequence-path").session()
    told = [client.call(op.create("/n-", flags=op.SEQUENTIAL)).value for _ in range(200)]
    wrong = [path for number, path in enumerate(told, 1) if path != f"/n-{number - 1:010d}"]
    assert 3 < len(wrong) < 20 if faulty else not wrong
    assert client.call(op.create("/plain0000000000")).value == "/plain0000000000"


def test_an_error_that_is_not_the_right_one(standalone, faulty):
    client = standalone("wrong-create-error").session()
    client.call(op.create("/k"))
    errors = [client.call(op.create("/k")).error for _ in range(200)]
    assert set(errors) == ({NODE_EXISTS, NO_NODE} if faulty else {NODE_EXISTS})
    assert errors.count(NODE_EXISTS) > 150


def test_a_missing_node_is_deleted(standalone, faulty):
    client = standalone("forgiving-delete").session()
    assert client.call(op.delete("/missing")).error == (0 if faulty else NO_NODE)
    assert client.call(op.set_data("/missing", b"")).error == NO_NODE
