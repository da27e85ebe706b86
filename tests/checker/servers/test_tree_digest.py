"""The digest of a tree: what real servers logged, and what a server leaves out."""

import msgspec
import pytest

from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.checker.servers.txnlog import parse_log
from tests.checker.servers.test_txnlog import REAL_LOG
from tests.checker.txnlog_encoder import create, txn
from tests.checker.zab_model import digest, proposal


def after(*txns):
    tree = DigestedTree()
    for each in txns:
        tree.apply(each)
    return tree.digest


def test_the_digests_that_a_real_server_logged():
    tree = DigestedTree()
    compared = 0
    for each in parse_log(REAL_LOG).txns:
        if each.digest is not None:
            assert tree.leads_to(each)
            compared += 1
        tree.apply(each)
        assert each.digest in {None, tree.digest}
    assert compared >= 8


def test_the_digest_from_its_definition():
    assert after() == digest([])
    assert after(*map(proposal, [5, 6, 7])) == digest([5, 6, 7]) != digest([5, 6])


TREE = (
    create(1, "/a"),
    create(2, "/a/e", session=9, ephemeral=True),
    create(3, "/a/f", session=9, ephemeral=True, parent_cversion=2),
)
CHANGES = [
    create(4, "/b", data=None, parent_cversion=2),
    create(4, "/a/b", parent_cversion=-1),
    txn("create2", 4, path="/b", data=b"x", parent_cversion=2),
    txn("createContainer", 4, path="/c", data=b"", parent_cversion=2),
    txn("createTTL", 4, path="/t", data=b"", parent_cversion=2, ttl_ms=1),
    txn("createTTL", 4, path="/t", data=b"", parent_cversion=2, ttl_ms=2),
    txn("delete", 4, path="/a/e"),
    txn("setData", 4, path="/a", data=b"y", version=1),
    txn("setData", 4, path="/", data=b"y", version=1),
    txn("setACL", 4, path="/a", version=1),
    txn("closeSession", 4, session=9, paths=("/a/e",)),
    txn("closeSession", 4, session=9, paths=("/a/e", "/a/f")),
    txn("multi", 4, ops=(txn("delete", 4, path="/a/e"), txn("delete", 4, path="/a/f"))),
]


def test_every_change_changes_the_digest_in_its_own_way_and_can_be_taken_back():
    digests = {after(*TREE)}
    for change in CHANGES:
        tree = DigestedTree()
        for each in TREE:
            tree.apply(each)
        before = tree.digest
        other = tree.copy()
        changes = tree.apply(change)
        assert other.leads_to(msgspec.structs.replace(change, digest=tree.digest))
        assert not other.leads_to(msgspec.structs.replace(change, digest=before))
        digests.add(tree.digest)
        tree.revert(changes)
        assert tree.digest == other.digest == before
    # Closing a session is the same as deleting what it names, of one and of both.
    assert len(digests) == 1 + len(CHANGES) - 2


@pytest.mark.parametrize(("name", "more"), [("setData", {"data": b"y"}), ("setACL", {})])
def test_a_leader_gives_the_next_version_of_its_own_tree(name, more):
    """The digest after a setData is the same, however often the znode had been set before."""

    def changed(zxid, version):
        return txn(name, zxid, path="/a", version=version, **more)

    tree = DigestedTree()
    for each in (*TREE, changed(4, 1), changed(5, 2)):
        tree.apply(each)
    following = changed(6, 3)
    following = msgspec.structs.replace(following, digest=after(*TREE, following))
    assert tree.leads_to(following)
    earlier = DigestedTree()
    for each in TREE:
        earlier.apply(each)
    assert not earlier.leads_to(following)
    both = txn("multi", 6, ops=(changed(6, 3), changed(6, 4)))
    assert tree.leads_to(msgspec.structs.replace(both, digest=after(*TREE, both)))


def test_a_close_that_names_no_paths_takes_what_the_session_owns():
    named = txn("closeSession", 4, session=9, paths=("/a/e", "/a/f"))
    assert after(*TREE, msgspec.structs.replace(named, paths=None)) == after(*TREE, named)


def test_the_deletion_of_a_znode_that_is_gone_counts_for_its_parent_as_in_a_server():
    gone = txn("delete", 4, path="/a/gone")
    child = create(4, "/a/x", parent_cversion=9)
    assert after(*TREE, gone) != after(*TREE)
    assert after(*TREE, txn("delete", 1, path="/a/gone")) == after(*TREE)
    assert after(*TREE, gone, child) == after(*TREE, child)


@pytest.mark.parametrize(
    "nothing",
    [
        txn("createSession", 4, timeout=9),
        txn("closeSession", 4, paths=()),
        txn("error", 4, error=-101),
        txn("multi", 4, ops=(create(4, "/b"), txn("error", 4, error=-110))),
        txn("multi", 4, ops=(txn("check", 4, path="/a", version=1),)),
        txn("setData", 4, path="/missing", data=b"", version=1),
        create(4, "/missing/b"),
        create(4, "/a"),
        create(4, "/zookeeper/quota/a"),
        txn("reconfig", 4, path="/zookeeper/config", data=b"s", version=-1),
    ],
    ids=lambda each: f"{each.name} {each.path}",
)
def test_what_changes_nothing_that_counts(nothing):
    assert after(*TREE, nothing) == after(*TREE)


def test_a_create_of_what_is_there_still_counts_at_its_parent():
    again = create(4, "/a", parent_cversion=7)
    assert after(*TREE, again) == after(*TREE, txn("multi", 4, ops=(again,))) != after(*TREE)
