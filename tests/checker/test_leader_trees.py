"""Which tree a leader had, and how much of an epoch, by the digest of what it proposed."""

import msgspec

from checker import leader_trees
from checker.leader_trees import LeaderTrees
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
