"""What simulated servers leave on their disks, as the checker of real servers' files reads it."""

import pytest

from rumpus.checker.servers.commitment import decide
from rumpus.checker.servers.leader_trees import LeaderTrees
from rumpus.checker.servers.node_files import epoch, read_node_directory
from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.conformance import operations as op
from rumpus.simulation.zookeeper.export import export
from rumpus.simulation.zookeeper.storage.database import Database
from tests.simulation.zookeeper.raw_client import World


def files_of(world, node, tmp_path):
    directory = tmp_path / node
    export(world.cluster.disks[node], directory)
    files = read_node_directory(directory)
    assert files.damage == ()
    return files


def txns_of(files):
    return [txn for log in files.logs for txn in log.txns]


def write_all_kinds(client):
    for operation in (
        op.create("/a", b"one"),
        op.create("/a", b"refused"),
        op.create2("/a/s-", b"", flags=2),
        op.create("/a/e", None, flags=1),
        op.create_container("/c"),
        op.create_container("/c2"),
        op.create("/c/x"),
        op.create_ttl("/t", 1000),
        op.set_data("/a", b"two"),
        op.set_data("/a", None),
        op.set_data("/missing", b""),
        op.set_acl("/a", [op.Acl(31, "world", "anyone"), op.Acl(1, "ip", "10.0.0.1")]),
        op.multi([op.create("/m", b"x"), op.check("/m", 0), op.set_data("/m", b"y")]),
        op.multi([op.create("/n"), op.delete("/missing"), op.delete("/m")]),
        op.multi([op.create2("/n"), op.delete("/n")]),
        op.delete("/c/x"),
        op.create("/with \N{SNOWMAN}", bytes(range(256))),
    ):
        client.call(operation)


@pytest.fixture
def alone():
    world = World(extended_types=True)
    world.start()
    yield world
    world.tear_down()


def test_every_record_and_its_digest(alone, tmp_path):
    client = alone.session()
    other = alone.session()
    write_all_kinds(client)
    other.call(op.create("/e", flags=1))
    other.close_session()
    files = files_of(alone, "n1", tmp_path)
    txns = txns_of(files)
    names = {txn.name for txn in txns}
    assert names == {
        "createSession",
        "create",
        "createContainer",
        "createTTL",
        "setData",
        "setACL",
        "delete",
        "multi",
        "error",
        "closeSession",
    } | ({"create2"} & names)
    log = Database(alone.cluster.disks["n1"]).log
    entries = list(log.read(0))
    assert [(txn.zxid, txn.session, txn.type, txn.digest) for txn in txns] == [
        (found.header.zxid, found.header.session, found.header.type, found.digest)
        for found in entries
    ]
    tree = DigestedTree()
    for txn in txns:
        tree.apply(txn)
        if txn.name == "error":
            assert txn.digest is None
        else:
            assert txn.digest == tree.digest
    assert tree.digest == alone.cluster.programs["n1"].server.database.tree.digest()
    assert sum(txn.digest is not None for txn in txns) > 15


def test_the_first_record_is_that_of_the_session(alone, tmp_path):
    client = alone.session(timeout_ms=10_000)
    client.call(op.create("/a"))
    files = files_of(alone, "n1", tmp_path)
    assert (files.snapshots, files.digest) == ({0}, None)
    (log,) = files.logs
    assert (log.name, log.end) == ("log.1", "end of file")
    first, second = log.txns
    assert (first.name, first.session, first.cxid, first.zxid) == (
        "createSession",
        client.session,
        0,
        1,
    )
    assert first.timeout == 10_000
    assert (second.name, second.path, second.zxid) == ("create", "/a", 2)


def test_snapshots_and_logs_of_restarts(alone, tmp_path):
    client = alone.session()
    write_all_kinds(client)
    last = alone.cluster.zxid("n1")
    alone.cluster.kill("n1")
    alone.start()
    again = alone.reattach(client)
    again.call(op.create("/after"))
    files = files_of(alone, "n1", tmp_path)
    assert files.snapshots == {0, last}
    assert [log.name for log in files.logs] == ["log.1", f"log.{last + 1:x}"]
    txns = txns_of(files)
    tree = DigestedTree()
    for txn in txns[:last]:
        tree.apply(txn)
    assert files.digest == (last, tree.digest)
    tree.apply(txns[last])
    assert txns[last].digest == tree.digest


def change(client, prefix, count):
    """Several writes; what was acknowledged of them, by zxid."""
    acknowledged = {}
    for number in range(count):
        reply = client.call(op.create(f"/{prefix}{number}"))
        assert reply.error == 0
        acknowledged[reply.zxid] = f"/{prefix}{number}"
    return acknowledged


def leader_of(world):
    for _ in range(3000):
        if (leader := world.cluster.leader()) is not None:
            return leader
        world.run_for(10)
    raise AssertionError({node: world.cluster.mode(node) for node in world.nodes})


def test_the_history_of_an_ensemble_with_three_leaders(tmp_path):
    world = World(3, tick_time=500, seed=4)
    world.start()
    acknowledged = {}
    for round_number in range(3):
        leader = leader_of(world)
        client = world.session(leader)
        acknowledged |= change(client, f"{round_number}-", 5)
        if round_number < 2:
            world.cluster.kill(leader)
            world.run_for(3000)
            leader_of(world)
            world.cluster.start()
            world.run_for(3000)
    world.run_for(100)
    nodes = {node: files_of(world, node, tmp_path) for node in world.nodes}
    assert {files.current_epoch for files in nodes.values()} == {3}
    assert {files.accepted_epoch for files in nodes.values()} == {3}

    found = decide(nodes)
    assert found.reasons == ()
    assert found.discarded == found.uncertain == found.forked == ()
    paths = {txn.zxid: txn.path for txn in found.committed if txn.name == "create"}
    assert paths == acknowledged

    trees = LeaderTrees()
    by_epoch = {}
    for txn in found.committed:
        by_epoch.setdefault(epoch(txn.zxid), []).append(txn)
    assert list(by_epoch) == [1, 2, 3]
    for number, txns in by_epoch.items():
        trees.enter(txns)
        for txn in txns:
            assert trees.kept_at(txn.zxid, txn.digest) == frozenset()
        if number < 3:
            probe = by_epoch[number + 1][0]
            kept, cuts = trees.cuts(probe)
            assert (kept, cuts[0]) == (frozenset(), len(txns))
        trees.leave(len(txns), [])
    told = [files.digest for files in nodes.values() if files.digest is not None]
    assert told
    assert set(told) <= {(txn.zxid, txn.digest) for txn in found.committed}
    digests = {world.cluster.programs[node].server.database.tree.digest() for node in world.nodes}
    assert len(digests) == 1
    world.tear_down()


def with_one_write():
    world = World(3, tick_time=500, seed=2)
    world.start()
    leader = leader_of(world)
    followers = [node for node in world.nodes if node != leader]
    client = world.session(leader)
    change(client, "kept", 1)
    world.run_for(100)
    return world, leader, followers, client


def test_a_write_that_only_the_old_leader_has_is_cut_from_its_log(tmp_path):
    world, leader, followers, client = with_one_write()
    disk = world.cluster.disks[leader]
    before = len(disk.read("version-2/log.100000001"))
    for node in followers:
        world.cluster.kill(node)
    client.send(op.create("/lost"))
    world.run_for(200)
    world.cluster.kill(leader)
    lost = files_of(world, leader, tmp_path)
    assert txns_of(lost)[-1].path == "/lost"
    assert len(disk.read("version-2/log.100000001")) > before

    world.cluster.start(followers)
    leader_of(world)
    world.cluster.start([leader])
    world.run_for(5000)
    assert len(disk.read("version-2/log.100000001")) == before
    files = files_of(world, leader, tmp_path)
    last = txns_of(files)[-1]
    assert last.path == "/kept0"
    assert last.zxid in files.snapshots
    assert "/lost" not in world.cluster.programs[leader].server.database.tree.nodes
    world.tear_down()


def test_after_a_snapshot_of_the_leader_the_log_keeps_what_was_discarded(tmp_path):
    world, leader, followers, client = with_one_write()
    for node in followers:
        world.cluster.kill(node)
    client.send(op.create("/lost"))
    world.run_for(200)
    world.cluster.kill(leader)
    world.cluster.start(followers)
    acknowledged = change(world.session(leader_of(world)), "new", 1)
    world.cluster.start([leader])
    world.run_for(5000)

    files = files_of(world, leader, tmp_path)
    assert max(acknowledged) in files.snapshots
    assert "/lost" in {txn.path for txn in txns_of(files)}
    assert max(txn.zxid for txn in txns_of(files)) < max(acknowledged)
    assert "/lost" not in world.cluster.programs[leader].server.database.tree.nodes
    world.cluster.restart(leader)
    world.run_for(3000)
    tree = world.cluster.programs[leader].server.database.tree
    assert "/lost" not in tree.nodes
    assert "/new0" in tree.nodes
    nodes = {node: files_of(world, node, tmp_path) for node in world.nodes}
    found = decide(nodes)
    assert found.reasons == ()
    assert [txn.path for txn in found.discarded] == ["/lost"]
    assert [txn.path for txn in found.committed if txn.name == "create"] == ["/kept0", "/new0"]
    world.tear_down()
