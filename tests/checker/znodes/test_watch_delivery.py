from types import SimpleNamespace

import pytest

from rumpus.checker.servers.txnlog import Txn
from rumpus.checker.znodes.watch_delivery import check_watch_delivery
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def txn(zxid, name, path=None, **more):
    return Txn(zxid=zxid, session=1, cxid=1, time_ms=0, type=0, name=name, path=path, **more)


LOG = (
    txn(10, "create", "/a"),
    txn(11, "setData", "/a"),
    txn(12, "create", "/a/x", ephemeral=True),
    txn(13, "setData", "/b"),
    txn(14, "closeSession", paths=("/a/x",)),
    txn(15, "multi", ops=(txn(15, "setData", "/b"), txn(15, "delete", "/a"))),
)


def truth(**more):
    fates = {"forked": (), "uncertain": (), "reasons": [], **more}
    return SimpleNamespace(committed=LOG, **fates)


def left(path, zxid, kind="data", connection=1):
    value = {"client": 0, "connection": connection, "path": path, "kind": kind, "zxid": zxid}
    return "watch-left", value


def event(path, name, shown, connection=1):
    value = {"client": 0, "connection": connection, "path": path, "event": name, "shown": shown}
    return "watch", value


def judged(*records, **more):
    recorded = Recorded(1)
    for number, (f, value) in enumerate(records):
        recorded.add(number, "link", "info", f, value)
    return check_watch_delivery(laid_out(recorded.end(99).history(), truth=truth(**more)))


def kinds(*records, **more):
    result = judged(*records, **more)
    assert not result.unknown
    return [each.kind for each in result.anomalies]


@pytest.mark.parametrize(
    "sound",
    [
        [left("/a", 10), event("/a", "changed", 10), left("/a", 11)],
        [left("/a", 9, "exists"), event("/a", "created", 9)],
        [left("/a", 11, "children"), event("/a", "child", 11), left("/a", 12, "children")],
        # The end of a session removes its node: the child's watch, and the parent's.
        [
            left("/a/x", 12), left("/a", 12, "children"),
            event("/a/x", "deleted", 12), event("/a", "child", 12), left("/b", 14),
        ],
        # One event for both watches of a node that is deleted.
        [left("/a", 14), left("/a", 14, "children"), event("/a", "deleted", 14), left("/b", 15)],
        # A watch that is left twice is one.
        [left("/a", 10), left("/a", 10, "exists"), event("/a", "changed", 10), left("/b", 12)],
        # What stands on one connection is gone with it.
        [left("/a", 10), left("/a", 12, connection=2)],
        # Nothing was shown beyond the change: the event may be on its way.
        [left("/a", 10), left("/b", 10)],
    ],
)  # fmt: skip
def test_events_that_come_as_promised(sound):
    assert kinds(*sound) == []


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        ("missed-event", [left("/a", 10), left("/b", 12)]),
        ("missed-event", [left("/a", 11, "children"), left("/b", 12)]),
        ("missed-event", [left("/a/x", 12), left("/b", 14)]),
        ("late-event", [left("/a", 10), event("/a", "changed", 11)]),
        ("late-event", [left("/a", 10), left("/b", 12), event("/a", "changed", 12)]),
        ("repeated-event", [left("/a", 10), *[event("/a", "changed", 10)] * 2]),
        ("repeated-event", [left("/a", 10), event("/a", "changed", 10, connection=2)]),
        ("repeated-event", [left("/a", 10), event("/a", "deleted", 10)]),
        (
            "reordered-event",
            [
                left("/a", 10),
                left("/b", 10),
                event("/b", "changed", 10),
                event("/a", "changed", 10),
            ],
        ),
    ],
)
def test_events_that_do_not(kind, broken):
    assert kinds(*broken) == [kind]


def test_an_event_that_is_missed_is_not_the_next_one_late():
    found = kinds(left("/b", 12), left("/b", 13), event("/b", "changed", 14))
    assert found == ["missed-event"]


def test_nothing_is_said_of_nodes_whose_fate_is_open():
    assert kinds(left("/a", 10), left("/b", 12), uncertain=(txn(16, "setData", "/a"),)) == []


def test_without_what_it_needs_it_is_unknown():
    assert judged(left("/a", 10), reasons=["a log is missing"]).unknown == ["a log is missing"]
    assert judged(event("/a", "changed", 10)).unknown
    history = Recorded(1).end(9).history()
    assert check_watch_delivery(laid_out(history, truth=None)).unknown
