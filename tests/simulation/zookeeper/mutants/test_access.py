from rumpus.conformance import operations as op
from rumpus.conformance.operations import Acl
from rumpus.simulation.zookeeper.wire.error_codes import NO_AUTH

ANYONE = ("world", "anyone")


def guarded(permissions):
    """What anyone may do."""
    return [Acl(permissions, *ANYONE)]


def test_a_delete_asks_the_node_instead_of_its_parent(standalone, faulty):
    client = standalone("delete-by-own-acl").session()
    client.call(op.create("/closed", acl=guarded(op.ALL - op.DELETE)))
    client.call(op.create("/closed/open"))
    client.call(op.create("/protected", acl=guarded(op.READ)))
    assert client.call(op.delete("/closed/open")).error == (0 if faulty else NO_AUTH)
    assert client.call(op.delete("/protected")).error == (NO_AUTH if faulty else 0)


def test_a_writer_sets_the_list(standalone, faulty):
    client = standalone("acl-by-writers").session()
    client.call(op.create("/w", acl=guarded(op.READ | op.WRITE)))
    client.call(op.create("/a", acl=guarded(op.READ | op.ADMIN)))
    assert client.call(op.set_acl("/w", op.OPEN)).error == (0 if faulty else NO_AUTH)
    assert client.call(op.set_acl("/a", op.OPEN)).error == (NO_AUTH if faulty else 0)


def test_what_a_multi_read_shows(standalone, faulty):
    client = standalone("unguarded-multi-read").session()
    client.call(op.create("/secret", b"s", acl=guarded(op.WRITE)))
    assert client.call(op.get_data("/secret")).error == NO_AUTH
    (result,) = client.call(op.multi_read([op.get_data("/secret")])).value
    assert result.error == (0 if faulty else NO_AUTH)
    assert result.value[0] == b"s" if faulty else result.value == NO_AUTH


def test_a_list_that_a_snapshot_forgets(standalone, faulty):
    world = standalone("acl-lost-in-snapshot")
    client = world.session()
    client.call(op.create("/secret", b"s", acl=guarded(op.WRITE)))
    for _ in range(2):  # the first start only reads the log, and then writes a snapshot
        assert client.call(op.get_data("/secret")).error == NO_AUTH
        world.cluster.restart("n1")
        world.run_for(1000)
        client = world.session()
    assert client.call(op.get_data("/secret")).error == (0 if faulty else NO_AUTH)
    assert client.call(op.set_data("/zookeeper/config", b"")).error == NO_AUTH
