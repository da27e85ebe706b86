"""Lives of sessions and znodes, from committed transactions."""

import pytest

from rumpus.checker.servers.node_files import NodeFiles
from rumpus.checker.servers.server_truth import (
    LONGEST_SNAPSHOT,
    Epoch,
    SessionLife,
    ZnodeLife,
    merge,
)
from rumpus.checker.servers.tree_digest import Znode
from rumpus.checker.servers.txnlog import LogFile
from tests.checker.txnlog_encoder import create, txn

S1, S2 = 0x100000000000001, -0x100000000000000
HEX1, HEX2 = "0x100000000000001", "0xff00000000000000"


def node(*txns, current=0):
    return NodeFiles((LogFile("log.1", txns, "padding", 0),), frozenset([0]), current)


def truth(*txns):
    return merge({"n1": node(*txns)})


def at(zxid, name, session=S1, cxid=1, **rest):
    """A transaction whose time is 1000 ms per zxid."""
    return txn(name, zxid, session, cxid, time_ms=1000 * zxid, **rest)


def made(zxid, path, session=S1, **rest):
    return create(zxid, path, session, time_ms=1000 * zxid, **rest)


def ends(lives):
    return [(life.path, life.czxid, life.deleted_zxid, life.how, life.deleted_by) for life in lives]


def test_nothing():
    found = merge({})
    assert found.sessions() == {}
    assert found.znodes("/") == []
    assert found.epochs() == {}
    assert found.reasons == []


def test_sessions_that_live_close_and_expire():
    found = truth(
        at(1, "createSession", S1, cxid=0, timeout=4000),
        at(2, "createSession", S2, cxid=0, timeout=6000),
        at(3, "createSession", 3, cxid=0, timeout=6000),
        at(4, "closeSession", S1, cxid=9, paths=()),
        at(5, "closeSession", S2, cxid=0, paths=()),
    )
    assert found.sessions() == {
        HEX1: SessionLife(HEX1, 1, 1000, 4000, 4, 4000, expired=False),
        HEX2: SessionLife(HEX2, 2, 2000, 6000, 5, 5000, expired=True),
        "0x3": SessionLife("0x3", 3, 3000, 6000),
    }


def test_a_session_whose_beginning_is_in_no_log():
    assert truth(at(4, "closeSession", S1, cxid=0)).sessions() == {
        HEX1: SessionLife(HEX1, None, None, None, 4, 4000, expired=True)
    }


def test_a_znode_from_creation_to_deletion():
    found = truth(
        made(1, "/a", data=b"first"),
        at(2, "setData", path="/a", data=b"second", version=1),
        at(3, "setACL", path="/a", version=1),
        at(4, "delete", S2, path="/a"),
        made(5, "/a", S2, data=None, ephemeral=True),
    )
    assert found.znodes("/a") == [
        ZnodeLife("/a", 1, 1000, HEX1, None, b"first", 4, 4000, HEX2, "deleted"),
        ZnodeLife("/a", 5, 5000, HEX2, HEX2, None),
    ]


@pytest.mark.parametrize(
    ("cxid", "how", "paths"),
    [
        (7, "closed", ("/l/b", "/l/a")),
        (0, "expired", ("/l/b", "/l/a")),
        (0, "expired", None),
        (7, "closed", ()),
    ],
)
def test_a_session_takes_its_ephemerals_with_it(cxid, how, paths):
    found = truth(
        made(1, "/l"),
        made(2, "/l/a", ephemeral=True),
        made(3, "/l/b", ephemeral=True),
        made(4, "/l/c", S2, ephemeral=True),
        made(5, "/l/gone", ephemeral=True),
        at(6, "delete", S2, path="/l/gone"),
        at(9, "closeSession", S1, cxid=cxid, paths=paths),
    )
    assert ends(found.znodes("/l")) == [
        ("/l", 1, None, None, None),
        ("/l/a", 2, 9, how, HEX1),
        ("/l/b", 3, 9, how, HEX1),
        ("/l/c", 4, None, None, None),
        ("/l/gone", 5, 6, "deleted", HEX2),
    ]


def test_a_znode_made_anew_by_another_session_does_not_die_with_the_first():
    found = truth(
        made(1, "/l", S1, ephemeral=True),
        at(2, "delete", S2, path="/l"),
        made(3, "/l", S2, ephemeral=True),
        at(4, "closeSession", S1, cxid=0, paths=()),
    )
    assert ends(found.znodes("/l")) == [
        ("/l", 1, 2, "deleted", HEX2),
        ("/l", 3, None, None, None),
    ]


def test_a_multi_happens_as_one_and_a_failed_one_not_at_all():
    found = truth(
        made(1, "/a"),
        at(2, "multi", ops=(at(2, "delete", path="/a"), made(2, "/b", ephemeral=True))),
        at(3, "multi", ops=(made(3, "/c"), at(3, "error", error=-101))),
        at(4, "error", error=-110),
    )
    assert ends(found.znodes()) == [
        ("/a", 1, 2, "multi", HEX1),
        ("/b", 2, None, None, None),
    ]
    assert found.znodes("/b")[0].owner == HEX1


def test_containers_and_ttl_nodes_are_reaped_by_the_server():
    found = truth(
        at(1, "createContainer", path="/c", data=b"", parent_cversion=1),
        at(2, "createTTL", path="/t", data=b"", parent_cversion=2, ttl_ms=5),
        at(3, "deleteContainer", session=0, cxid=0, path="/c"),
        at(4, "deleteContainer", session=0, cxid=0, path="/t"),
    )
    assert ends(found.znodes()) == [
        ("/c", 1, 3, "reaped", None),
        ("/t", 2, 4, "reaped", None),
    ]
    assert [life.owner for life in found.znodes()] == [None, None]


def test_a_prefix_ends_at_a_slash():
    found = truth(made(1, "/lock"), made(2, "/lock/n-1"), made(3, "/locker"))
    assert [life.path for life in found.znodes("/lock")] == ["/lock", "/lock/n-1"]
    assert [life.path for life in found.znodes("/lock/")] == ["/lock/n-1"]
    assert [life.path for life in found.znodes("/")] == ["/lock", "/lock/n-1", "/locker"]


def test_a_deletion_that_no_log_holds():
    found = truth(made(1, "/a"), made(3, "/a", S2), at(4, "delete", path="/unheard"))
    assert ends(found.znodes()) == [
        ("/a", 1, 3, "unlogged", None),
        ("/a", 3, None, None, None),
    ]


def test_epochs():
    e = 1 << 32
    found = merge(
        {
            name: node(made(e + 1, "/a"), made(e + 2, "/b"), made(3 * e + 1, "/c"), current=3)
            for name in ("n1", "n2", "n3")
        }
    )
    assert found.epochs() == {
        1: Epoch(1, e + 1, 1000 * (e + 1), e + 2, 1000 * (e + 2)),
        3: Epoch(3, 3 * e + 1, 1000 * (3 * e + 1), 3 * e + 1, 1000 * (3 * e + 1)),
    }


def test_only_what_was_committed_counts():
    e = 1 << 32
    first, lost, new, last = (
        made(e + 1, "/a"),
        made(e + 2, "/lost", ephemeral=True),
        made(2 * e + 1, "/b"),
        made(2 * e + 2, "/perhaps"),
    )
    found = merge(
        {
            "n1": node(first, new, last, current=2),
            "n2": node(first, new, current=2),
            "n3": node(first, lost, current=1),
        }
    )
    assert [life.path for life in found.znodes()] == ["/a", "/b"]
    assert found.committed == (first, new)
    assert found.discarded == (lost,)
    assert found.uncertain == (last,)
    assert len(found.notes) == 1


def test_the_size_of_the_ensemble_can_be_told():
    found = merge({"n1": node(made(1, "/a"))}, ensemble_size=3)
    assert found.committed == ()
    assert found.reasons[0] == "the files of 2 of 3 servers are missing"


def test_times_of_clocks_that_were_wrong_are_put_right():
    files = {
        "n1": node(
            at(1, "createSession", timeout=4000),
            create(2, "/a", S1, time_ms=90_000_000),
            txn("multi", 3, S1, 4, time_ms=95_000_000, ops=(made(3, "/a/b"), made(3, "/c"))),
            at(4, "delete", path="/a/b"),
        )
    }
    assert [txn.time_ms for txn in merge(files).committed] == [1000, 90_000_000, 95_000_000, 4000]
    found = merge(files, true_times={2: 2000, 3: 3500})
    assert [txn.time_ms for txn in found.committed] == [1000, 2000, 3500, 4000]
    assert [life.created_ms for life in found.znodes("/")] == [2000, 3500, 3500]


def test_a_session_ends_once():
    found = truth(
        at(1, "createSession", S1, cxid=0, timeout=4000),
        at(4, "closeSession", S1, cxid=0, paths=()),
        at(6, "closeSession", S1, cxid=9, paths=()),
    )
    assert found.sessions()[HEX1] == SessionLife(HEX1, 1, 1000, 4000, 4, 4000, expired=True)


@pytest.mark.parametrize(("ms", "told"), [(LONGEST_SNAPSHOT, 0), (LONGEST_SNAPSHOT + 1, 1)])
def test_a_snapshot_has_no_effects_of_long_after_its_name(ms, told):
    """From the first transaction that it need not have, to the last one that it has."""
    times = (0, 90_000, 90_000, 90_000 + ms)
    txns = [create(zxid, f"/n{zxid}", S1, time_ms=at) for zxid, at in enumerate(times, 1)]
    trees = {0: {}, 2: {"": Znode(b"", 0, 0, 4, 0, 0, 0, 0, 0, 0)}}
    log = LogFile("log.1", tuple(txns), "padding", 0)
    found = merge({"n1": NodeFiles((log,), frozenset(trees), 0, read_tree=trees.__getitem__)})
    words = [each for each in found.reasons if "of another time" in each]
    assert len(words) == told
    if told:
        assert words[0].startswith("n1: snapshot.2 has effects of 0x4, which was 10 s later")
