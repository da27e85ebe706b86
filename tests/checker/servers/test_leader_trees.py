"""Which tree a leader had, and how much of an epoch, by the digest of what it proposed."""

import msgspec

from rumpus.checker.servers import leader_trees
from rumpus.checker.servers.leader_trees import LeaderTrees
from rumpus.checker.servers.tree_digest import DigestedTree
from rumpus.checker.servers.txnlog import Txn
from tests.checker.zab_model import digest, proposal, zxid


def opened(epoch, history):
    """The first proposal of an epoch whose leader has a history."""
    first = zxid(epoch, 1)
    return msgspec.structs.replace(proposal(first), digest=digest([*history, first]))


FIRST = [proposal(zxid(1, k)) for k in (1, 2, 3)]
ZXIDS = [txn.zxid for txn in FIRST]


def test_the_cut_and_what_the_leader_had_kept():
    trees = LeaderTrees()
    trees.enter(FIRST)
    assert trees.cuts(opened(2, ZXIDS)) == (frozenset(), [3])
    assert trees.cuts(opened(2, [])) == (frozenset(), [0])
    assert trees.cuts(opened(2, ZXIDS[1:])) is None
    probe = opened(2, ZXIDS[:1])
    assert trees.cuts(probe) == (frozenset(), [1])
    trees.leave(1, [FIRST[1:], FIRST[2:]])

    trees.enter([probe])
    for kept in ([], ZXIDS[1:], ZXIDS[2:]):
        has = [ZXIDS[0], *kept, probe.zxid]
        assert trees.cuts(opened(3, has)) == (frozenset(kept), [1])
        assert trees.kept_at(probe.zxid, digest(has)) == frozenset(kept)
        assert trees.kept_at(zxid(2, 0), digest(has[:-1])) == frozenset(kept)
    assert trees.kept_at(probe.zxid, digest(ZXIDS)) is None
    trees.leave(1, [])
    assert trees.kept_at(zxid(9, 9), digest([*ZXIDS, probe.zxid])) == frozenset(ZXIDS[1:])


def test_only_trees_that_were_not_seen_lately_are_given_up(monkeypatch):
    monkeypatch.setattr(leader_trees, "_MOST_TREES", 4)
    trees = LeaderTrees()
    kept = [zxid(1, 2)]
    had = []
    for e in range(1, 9):
        txns = [proposal(zxid(e, k)) for k in (1, 2)]
        trees.enter(txns)
        had.append(txns[0].zxid)
        assert trees.cuts(opened(e + 1, had)) == (frozenset(), [1])
        if e > 1:
            assert trees.cuts(opened(e + 1, sorted(had + kept))) == (frozenset(kept), [1])
        if e == 8:
            assert trees.cuts(opened(e + 1, sorted([*had, zxid(2, 2)]))) is None
        trees.leave(1, [txns[1:]])


def set_data(epoch, counter):
    """A proposal that leaves nothing of what other writes to the same znode did."""
    number = zxid(epoch, counter)
    return Txn(number, 0, 1, epoch, 5, "setData", FIRST[0].path, b"%d" % number, version=counter)


def test_trees_that_are_equal_again_are_one_and_what_left_no_trace_is_not_kept(monkeypatch):
    applied = []
    apply = DigestedTree.apply
    monkeypatch.setattr(
        DigestedTree, "apply", lambda tree, txn: applied.append(txn) or apply(tree, txn)
    )
    trees = LeaderTrees()
    trees.enter(FIRST[:1])
    trees.leave(1, [])
    for e in range(2, 7):
        txns = [set_data(e, 1), set_data(e, 2), set_data(e, 3)]
        trees.enter(txns)
        applied.clear()
        trees.leave(2, [txns[2:]])
        # Two of the epoch on the tree before it and on the last fork, if it has one; and the fork.
        assert len(applied) <= 5
    last = [set_data(7, 1)]
    tree = DigestedTree()
    for txn in [FIRST[0], *last]:
        tree.apply(txn)
    trees.enter(last)
    assert trees.kept_at(last[0].zxid, tree.digest) == frozenset()
    probe = set_data(8, 2)  # its version is the next one
    tree.apply(probe)
    assert trees.cuts(msgspec.structs.replace(probe, digest=tree.digest)) == (frozenset(), [1])
