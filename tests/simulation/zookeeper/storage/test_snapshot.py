from struct import pack, unpack_from
from zlib import adler32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumpus.simulation.zookeeper.storage import snapshot
from rumpus.simulation.zookeeper.storage.snapshot import InvalidSnapshot
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from rumpus.simulation.zookeeper.tree.transactions import (
    CreateContainerTxn,
    CreateTtlTxn,
    CreateTxn,
    SetAclTxn,
)
from tests.simulation.zookeeper.entries import OPEN, create, delete, entry, set_data

MINE = ((1, "digest", "u:x"), (31, "ip", "10.0.0.0/8"))


def grown_tree():
    tree = DataTree()
    for found in (
        create(1, "/a", b"one"),
        create(2, "/a/b", None, cversion=1),
        create(3, "/e", b"", cversion=2, ephemeral=True, session=0x100),
        entry(4, CreateContainerTxn("/c", b"", OPEN, 3), 19),
        entry(5, CreateTtlTxn("/t", b"", MINE, 4, 1000), 21),
        entry(6, SetAclTxn("/a", MINE, 1), 7),
        set_data(7, "/a/b", b"x", 1),
        delete(8, "/c"),
    ):
        tree.apply(found)
    return tree


def shape(tree):
    fields = ("data", "acl", "czxid", "mzxid", "pzxid", "ctime", "mtime", "version", "cversion")
    fields += ("aversion", "owner", "session")
    nodes = {
        path: ([getattr(node, name) for name in fields], sorted(node.children))
        for path, node in tree.walk()
    }
    return nodes, tree.ephemerals, tree.containers, tree.ttls


def read_by_hand(data):
    """Sessions, lists, nodes and offset of the end, by section 8.5 of the reference alone."""
    at = 16

    def take(form):
        nonlocal at
        found = unpack_from(f">{form}", data, at)
        at += {"i": 4, "q": 8}[form[-1]] * len(found)
        return found if len(found) > 1 else found[0]

    def buffer():
        nonlocal at
        length = take("i")
        at += max(0, length)
        return None if length < 0 else data[at - length : at]

    sessions = {take("q"): take("i") for _ in range(take("i"))}
    lists = {}
    for _ in range(take("i")):
        key = take("q")
        lists[key] = tuple((take("i"), buffer(), buffer()) for _ in range(take("i")))
    nodes = {}
    while (path := buffer()) != b"/":
        nodes[path.decode()] = (buffer(), take("q"), *take("qqqq"), *take("iii"), *take("qq"))
    return sessions, lists, nodes, at


def test_a_file_is_as_described():
    tree = grown_tree()
    data = snapshot.write_file(tree, {0x100: 4000, -5: 9000}, 8)
    assert data[:16] == b"ZKSN" + pack(">iq", 2, -1)
    sessions, lists, nodes, at = read_by_hand(data)
    assert sessions == {0x100: 4000, -5: 9000}
    assert next(iter(nodes)) == ""
    assert set(nodes) == {"", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} | {
        "/a",
        "/a/b",
        "/e",
        "/t",
    }
    assert nodes[""][1] == nodes["/zookeeper"][1] == -1
    assert lists[nodes["/a"][1]] == ((1, b"digest", b"u:x"), (31, b"ip", b"10.0.0.0/8"))
    assert lists[nodes["/e"][1]] == ((31, b"world", b"anyone"),)
    a_b = (b"x", nodes["/e"][1], 2, 7, 1, 1, 1, 0, 0, 0, 2)
    assert nodes["/a/b"] == a_b
    assert nodes["/e"][-2] == 0x100
    assert nodes["/t"][-2] == (0xFF << 56 | 1000) - 2**64
    seal = pack(">q", adler32(data[:at])) + b"\0\0\0\x01/"
    assert data[at : at + 13] == seal
    at += 13
    assert unpack_from(">qiQ", data, at) == (8, 2, tree.digest())
    at += 20
    assert data[at:] == pack(">q", adler32(data[:at])) + b"\0\0\0\x01/"


def test_what_is_written_is_read():
    tree = grown_tree()
    found, sessions = snapshot.read_file(snapshot.write_file(tree, {0x100: 4000}, 8))
    assert shape(found) == shape(tree)
    assert sessions == {0x100: 4000}
    assert found.digest() == tree.digest()
    found, sessions = snapshot.deserialize(snapshot.serialize(tree, {7: 1}))
    assert shape(found) == shape(tree)
    assert sessions == {7: 1}


def test_without_a_transaction_no_digest_is_told():
    data = snapshot.write_file(DataTree(), {}, 0)
    assert unpack_from(">qiQ", data, len(data) - 33) == (0, 2, 0)
    assert snapshot.read_file(data)[0].digest() == DataTree().digest()


def test_files_of_servers_without_digests_are_read():
    data = snapshot.write_file(grown_tree(), {}, 8)[:-33]
    assert snapshot.is_whole(data)
    assert shape(snapshot.read_file(data)[0]) == shape(grown_tree())


@given(st.data())
def test_any_changed_byte_is_noticed(data):
    whole = snapshot.write_file(grown_tree(), {0x100: 4000}, 8)
    # The database id in the header is not looked at, but it is under the seal.
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidSnapshot):
        snapshot.read_file(bytes(changed))


@given(st.data())
def test_no_part_of_a_file_is_a_snapshot(data):
    whole = snapshot.write_file(grown_tree(), {0x100: 4000}, 8)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    if part == whole[:-33]:
        return  # what a server without digests would have written
    with pytest.raises(InvalidSnapshot):
        snapshot.read_file(part)


def test_a_stream_ends_with_its_nodes():
    data = snapshot.serialize(grown_tree(), {})
    with pytest.raises(InvalidSnapshot, match="1 bytes are left"):
        snapshot.deserialize(data + b"x")


@given(st.binary(max_size=40))
def test_nonsense_is_not_whole_or_not_a_snapshot(data):
    with pytest.raises(InvalidSnapshot):
        snapshot.read_file(data)
    assert snapshot.is_whole(data) == (len(data) >= 10 and data[-5:] == b"\0\0\0\x01/")


def test_a_node_with_an_unknown_list_is_refused():
    txn = CreateTxn("/x", b"", MINE, False, 1)
    tree = DataTree()
    tree.apply(entry(1, txn, 1))
    data = snapshot.serialize(tree, {})
    broken = data.replace(pack(">iq", 2, 1), pack(">iq", 2, 9), 1)
    assert broken != data
    with pytest.raises(InvalidSnapshot):
        snapshot.deserialize(broken)
