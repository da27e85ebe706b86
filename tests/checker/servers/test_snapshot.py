"""Reading the znodes of a snapshot, as the simulated servers and damaged disks have them."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumpus.checker.servers.snapshot import UnreadableSnapshot, read_snapshot
from rumpus.checker.servers.tree_digest import DigestedTree, Znode
from rumpus.simulation.zookeeper.storage.snapshot import HEADER, serialize
from rumpus.simulation.zookeeper.tree.data_tree import DataTree
from tests.simulation.zookeeper.entries import create, delete, set_data

SESSIONS = {0x100: 2000, 0x200: 30000}


def written(tree: DataTree) -> bytes:
    return HEADER + serialize(tree, SESSIONS) + struct.pack(">q", 0) + b"\0\0\0\x01/"


def grown() -> DataTree:
    tree = DataTree()
    for entry in (
        create(1, "/a", b"one"),
        create(2, "/a/b", None, cversion=1),
        create(3, "/e", b"", cversion=2, ephemeral=True, session=0x100),
        set_data(4, "/a/b", b"x", 1),
        delete(5, "/e"),
    ):
        tree.apply(entry)
    return tree


def test_the_znodes_have_the_digest_that_the_server_computed(tmp_path):
    path = tmp_path / "snapshot.5"
    path.write_bytes(written(grown()))
    znodes = read_snapshot(path)
    assert znodes["/a/b"].data == b"x"
    assert (znodes["/a/b"].mzxid, znodes["/a/b"].version) == (4, 1)
    assert "/e" not in znodes
    assert DigestedTree(znodes).digest == grown().digest()


def test_a_new_server_s_snapshot_is_a_new_tree(tmp_path):
    path = tmp_path / "snapshot.0"
    path.write_bytes(written(DataTree()))
    assert DigestedTree(read_snapshot(path)).digest == DigestedTree().digest
    assert list(DigestedTree(read_snapshot(path)).differences(DigestedTree())) == []


def test_differences_name_znodes_but_not_those_that_each_server_changes_by_itself():
    tree, other = DigestedTree({"": Znode()}), DigestedTree()
    assert list(tree.differences(other)) == []
    znodes = {"": Znode(), "/zookeeper/config": Znode(b"x"), "/a": Znode(b"1")}
    assert list(DigestedTree(znodes).differences(other)) == ["/a"]
    assert list(DigestedTree({"": Znode(cversion=4)}).differences(other)) == ["/"]


@pytest.mark.parametrize("name", ["snapshot.5.gz", "snapshot.5.snappy", "missing"])
def test_what_cannot_be_read_says_why(tmp_path, name):
    path = tmp_path / name
    if name != "missing":
        path.write_bytes(b"compressed")
    with pytest.raises(UnreadableSnapshot, match="compressed" if "." in name else "cannot be read"):
        read_snapshot(path)


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_snapshot_is_refused_or_read_but_never_more(tmp_path_factory, data):
    content = bytearray(written(grown()))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "snapshot.5"
    path.write_bytes(bytes(content))
    try:
        znodes = read_snapshot(path)
    except UnreadableSnapshot as why:
        assert "snapshot.5 cannot be read" in str(why)  # noqa: PT017 - either is right
    else:
        assert len(znodes) <= len(content)
