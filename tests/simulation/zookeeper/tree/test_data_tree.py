"""Applying, replaying and restoring; quotas; expired container and TTL nodes."""

import pytest

from rumpus.simulation.zookeeper.storage.log_records import parse
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import CloseSessionTxn, Entry, Header
from rumpus.simulation.zookeeper.tree.znode import (
    CONTAINER_OWNER,
    Persisted,
    Znode,
    persisted_stat,
    session_of,
    ttl_of,
    ttl_owner,
)
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import Reader, write_string
from tests.simulation.zookeeper.engine import Engine, create_op, set_op


def fields(tree):
    return {
        path: [
            getattr(node, name)
            for name in (*Persisted.__slots__, *Znode.__slots__)
            if name not in ("_listing", "_most_children")
        ]
        for path, node in tree.nodes.items()
    }


def busy_engine():
    engine = Engine(extended_types=True)
    client, other = engine.connect(), engine.connect()
    client.create("/a", b"x")
    client.create("/a/b", flags=1)
    other.create("/a/s", flags=3)
    client.create("/c", flags=4, kind=opcodes.CREATE_CONTAINER)
    client.create("/t", flags=5, kind=opcodes.CREATE_TTL, ttl=9)
    client.set("/a", b"yy")
    client.set_acl("/a", ((31, "ip", "10.0.0.1"),))
    client.multi(create_op("/m"), set_op("/m", b"z"), create_op("/m/n", 2))
    client.delete("/m/n0000000000")
    client.create("/a")
    other.close()
    return engine


def test_replaying_gives_an_equal_tree():
    engine = busy_engine()
    tree = DataTree()
    for entry in engine.entries:
        tree.apply(parse(entry.payload))
    assert fields(tree) == fields(engine.tree)
    assert tree.ephemerals == engine.tree.ephemerals
    assert (tree.containers, tree.ttls) == ({"/c": None}, {"/t": None})
    assert tree.digest() == engine.tree.digest() == engine.preparer.changes.digest


def test_replaying_onto_the_result_changes_nothing_that_shows(engine, client):
    """Fuzzy snapshots contain effects of transactions that are replayed onto them."""
    client.create("/a")
    for name in "xyz":
        client.create(f"/a/{name}")
    client.delete("/a/y")
    before = fields(engine.tree)
    errors = [engine.tree.apply(entry).error for entry in engine.entries[2:]]
    assert errors == [-110, 0, -110, 0]  # y is created and deleted anew
    assert fields(engine.tree) == before


def test_a_creation_that_is_replayed_still_moves_its_parent_on(engine, client):
    client.create("/a")
    client.create("/a/x")
    node = engine.tree.nodes["/a"]
    node.cversion, node.pzxid = 0, 0
    assert engine.tree.apply(engine.entries[-1]).error == -110
    assert (node.cversion, node.pzxid) == (1, client.zxid)


def test_a_node_without_a_parent_is_an_error_in_replay(engine, client):
    client.create("/a")
    client.create("/a/x")
    client.set("/a/x")
    client.set_acl("/a/x", ((1, "world", "anyone"),))
    client.delete("/a/x")
    tree = DataTree()
    assert [tree.apply(entry).error for entry in engine.entries[2:]] == [-101] * 4


def test_closing_takes_ephemerals_that_it_does_not_name(engine, client):
    client.create("/e", flags=1)
    header = Header(client.session, 0, 99, 0, opcodes.CLOSE_SESSION)
    engine.tree.apply(Entry(header, CloseSessionTxn(()), None, b""))
    assert "/e" not in engine.tree.nodes
    assert engine.tree.ephemerals == {}


def test_unknown_types_are_no_transactions():
    with pytest.raises(ValueError, match="type 99"):
        DataTree().apply(Entry(Header(1, 1, 1, 1, 99), CloseSessionTxn(()), None, b""))


def copied(tree):
    """Copies of all nodes, in the order of a snapshot."""
    for path, node in tree.walk():
        yield path, Znode(node.data, node.acl, *persisted_stat(node))


def test_restoring_gives_an_equal_tree():
    engine = busy_engine()
    tree = DataTree.restore(copied(engine.tree))
    assert fields(tree) == fields(engine.tree)
    assert tree.nodes["/"] is tree.nodes[""]
    assert tree.ephemerals == engine.tree.ephemerals
    assert (tree.containers, tree.ttls) == ({"/c": None}, {"/t": None})
    assert tree.digest() == engine.tree.digest()


def test_broken_snapshots_are_refused():
    nodes = list(copied(DataTree()))
    with pytest.raises(ValueError, match="no parent"):
        DataTree.restore(nodes[1:])
    with pytest.raises(ValueError, match="without a root"):
        DataTree.restore([])
    with pytest.raises(ValueError, match="without /zookeeper"):
        DataTree.restore(nodes[:1])


def test_parents_come_first_in_a_walk():
    paths = [path for path, _ in busy_engine().tree.walk()]
    assert paths[0] == ""
    assert len(paths) == len(set(paths))
    for path in paths[1:]:
        assert paths.index(path.rpartition("/")[0]) < paths.index(path)


def test_markers_of_owners():
    assert ttl_of(ttl_owner(77)) == 77
    assert ttl_owner(1) == 0xFF00000000000001 - (1 << 64)
    assert [session_of(owner) for owner in (0, 5, CONTAINER_OWNER, ttl_owner(9))] == [0, 5, 0, 0]
    # Sessions of servers from 128 on are negative.
    session = (0xFE << 56) - (1 << 64)
    assert session_of(session) == session
    assert ttl_of(session) is None


def test_ephemerals_of_a_session(engine, client):
    engine.connect().create("/e0", flags=1)
    for path in ("/ep", "/e", "/f"):
        client.create(path, flags=1)
    client.create("/ordinary")

    def ask(prefix):
        reader = client.ask(opcodes.GET_EPHEMERALS, write_string(prefix))
        return sorted(reader.read_strings())

    for everything in (None, "", " ", "/"):
        assert ask(everything) == ["/e", "/ep", "/f"]
    assert ask("/e") == ["/e", "/ep"]
    assert ask("/nope") == []


def test_descendants_are_counted(client):
    for path in ("/a", "/a/b", "/a/b/c", "/ab"):
        client.create(path)

    def ask(path):
        reader = client.ask(opcodes.GET_ALL_CHILDREN_NUMBER, write_string(path))
        return client.error or reader.read_int()

    assert [ask(path) for path in ("/a", "/ab", "/nope", "/")] == [2, 0, -101, 7]


def test_who_am_i():
    engine = Engine()
    client = engine.connect(("digest", "u:hash"), ("digest", "u:other"))
    reader = client.ask(opcodes.WHO_AM_I, b"")
    infos = {(reader.read_text(), reader.read_text()) for _ in range(reader.read_int())}
    assert infos == {("ip", "10.0.0.1"), ("digest", "u")}


def test_children_come_in_the_order_of_a_hash_set(client):
    client.create("/p")
    for name in "qbai":
        client.create(f"/p/{name}")

    def children():
        return Reader(
            client.ask(opcodes.GET_CHILDREN, write_string("/p") + b"\0").data
        ).read_strings()

    # Eight buckets: q, a and i share one.
    assert children() == ["q", "a", "i", "b"]
    client.delete("/p/a")
    assert children() == ["q", "i", "b"]
    client.create("/p/a")
    assert children() == ["q", "i", "a", "b"]


def test_the_set_of_children_never_shrinks(client):
    client.create("/p")
    for name in "abcdefgq":
        client.create(f"/p/{name}")
    for name in "bcdefg":
        client.delete(f"/p/{name}")
    client.create("/p/i")
    reader = client.ask(opcodes.GET_CHILDREN, write_string("/p") + b"\0")
    # 16 buckets: a and q share one, i comes later.
    assert reader.read_strings() == ["a", "q", "i"]


QUOTA = "/zookeeper/quota"


def test_quotas_are_counted_and_not_enforced(client):
    client.create("/q", b"12")
    client.create("/q/old", b"345")
    client.create(f"{QUOTA}/q")
    client.create(f"{QUOTA}/q/zookeeper_limits", b"count=1,bytes=1")
    client.create(f"{QUOTA}/q/zookeeper_stats", b"")
    used = f"{QUOTA}/q/zookeeper_stats"
    assert client.get(used) == b"count=2,bytes=5"
    version = client.exists(used)
    client.get(used, watch=True)
    assert client.create("/q/new", b"6789") == "/q/new"
    assert client.get(used) == b"count=3,bytes=9"
    client.set("/q/new", b"")
    client.set("/q", None)
    assert client.get(used) == b"count=3,bytes=3"
    client.delete("/q/old")
    client.create("/qq", b"other")
    assert client.get(used) == b"count=2,bytes=0"
    stat = client.exists(used)
    assert (stat.version, stat.mzxid) == (version.version, version.mzxid)
    assert client.taken() == []


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        (b"garbage", b"count=1,bytes=2"),
        (b"count=5,bytes=7", b"count=6,bytes=9"),
        (b"count=9223372036854775807,bytes=1", b"count=-9223372036854775808,bytes=3"),
        (b"count=" + b"9" * 20 + b",bytes=1", b"count=1,bytes=2"),
        (b"count=" + b"9" * 5000 + b",bytes=1", b"count=1,bytes=2"),
    ],
    ids=["garbage", "numbers", "overflow", "twenty digits", "five thousand"],
)
def test_a_client_may_write_what_it_likes_into_the_count(client, written, counted):
    client.create("/q")
    client.create(f"{QUOTA}/q")
    client.create(f"{QUOTA}/q/zookeeper_limits")
    client.create(f"{QUOTA}/q/zookeeper_stats")
    client.set(f"{QUOTA}/q/zookeeper_stats", written)
    client.create("/q/x", b"12")
    assert client.get(f"{QUOTA}/q/zookeeper_stats") == counted


def test_quotas_survive_a_restoration_and_end_with_their_limits(engine, client):
    client.create("/q", b"12")
    client.create(f"{QUOTA}/q")
    client.create(f"{QUOTA}/q/zookeeper_limits")
    client.create(f"{QUOTA}/q/zookeeper_stats")
    tree = DataTree.restore(copied(engine.tree))
    assert tree.quotas.limited == {"/q": None}
    client.delete(f"{QUOTA}/q/zookeeper_limits")
    client.create("/q/x")
    assert client.get(f"{QUOTA}/q/zookeeper_stats") == b"count=1,bytes=2"
    assert engine.tree.quotas.limited == {}


def test_what_has_expired():
    engine = Engine(extended_types=True)
    client = engine.connect()
    for path in ("/used", "/unused", "/full"):
        client.create(path, flags=4, kind=opcodes.CREATE_CONTAINER)
    for path in ("/used/x", "/full/x"):
        client.create(path)
    client.delete("/used/x")
    client.create("/ttl", flags=5, kind=opcodes.CREATE_TTL, ttl=100)
    client.create("/parent", flags=5, kind=opcodes.CREATE_TTL, ttl=100)
    client.create("/parent/x")
    written = engine.tree.nodes["/ttl"].mtime
    assert list(engine.tree.expired(written + 100)) == ["/used"]
    assert list(engine.tree.expired(written + 101)) == ["/used", "/ttl"]
    assert list(engine.tree.expired(written + 101, never_used=50)) == ["/used", "/unused", "/ttl"]
    client.set("/ttl")
    assert list(engine.tree.expired(written + 101)) == ["/used"]


def test_the_configuration_is_written_in_place():
    tree = DataTree()
    before = tree.digest()
    tree.set_configuration(b"server.1=...", 77)
    node = tree.nodes["/zookeeper/config"]
    assert (node.data, node.version, node.aversion, node.mtime) == (b"server.1=...", -1, -1, 77)
    assert tree.digest() == before


def test_figures(engine, client):
    client.create("/a", b"123", flags=1)
    assert engine.tree.ephemerals_count() == 1
    assert len(engine.tree.nodes) == 6
    fresh = DataTree().approximate_data_size()
    assert engine.tree.approximate_data_size() == fresh + 5
