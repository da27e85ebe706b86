import struct

import pytest
from kazoo.protocol.serialization import Exists, GetChildren2, GetData, Sync, write_string

from rumpus.harness.links.links import WatchLeft, WatchSeen
from rumpus.harness.links.watch_tracing import WatchTracing


def frame(body):
    return struct.pack(">i", len(body)) + bytes(body)


def request(xid, kind, path, watch=None):
    operation = kind(path) if watch is None else kind(path, watch)
    return frame(struct.pack(">ii", xid, operation.type) + operation.serialize())


def reply(xid, zxid, error=0):
    return frame(struct.pack(">iqi", xid, zxid, error))


def event(kind, path):
    return frame(struct.pack(">iqiii", -1, -1, 0, kind, 3) + write_string(path))


def watcher(_):
    """What has kazoo set the flag in a request."""


@pytest.fixture
def tracing():
    return WatchTracing(client=3, number=2)


@pytest.mark.parametrize(
    ("kind", "name"), [(Exists, "exists"), (GetData, "data"), (GetChildren2, "children")]
)
def test_a_read_leaves_a_watch_as_of_its_reply(tracing, kind, name):
    tracing.request(request(7, kind, "/a/é", watcher))
    assert tracing.reply(reply(7, 40), 1000) == WatchLeft(1000, 3, name, "/a/é", 2, 40)
    assert tracing.reply(reply(7, 41), 1001) is None


@pytest.mark.parametrize(("kind", "leaves"), [(Exists, True), (GetData, False)])
def test_where_there_is_no_node_only_exists_leaves_a_watch(tracing, kind, leaves):
    tracing.request(request(7, kind, "/a", watcher))
    assert (tracing.reply(reply(7, 40, error=-101), 0) is not None) == leaves


def test_other_requests_leave_none(tracing):
    tracing.request(request(1, GetData, "/a", False))
    tracing.request(request(2, Sync, "/a"))
    tracing.request(request(3, GetData, "/a", watcher))
    answers = [tracing.reply(reply(1, 5), 0), tracing.reply(reply(2, 5), 0)]
    assert [*answers, tracing.reply(reply(3, 5, error=-4), 0)] == [None] * 3


def test_an_event_knows_what_had_been_shown_before(tracing):
    assert tracing.reply(event(3, "/a"), 8) == WatchSeen(8, 3, "changed", "/a", 2, 0)
    for zxid in (50, 45, -1):
        tracing.reply(reply(9, zxid), 0)
    assert tracing.reply(event(4, "/a"), 9) == WatchSeen(9, 3, "child", "/a", 2, 50)


def test_a_request_that_is_refused_as_unknown_is_noted(tracing):
    tracing.reply(reply(1, 5, error=-101), 0)
    assert not tracing.unimplemented
    tracing.reply(reply(2, 5, error=-6), 0)
    tracing.reply(reply(3, 6), 0)
    assert tracing.unimplemented
