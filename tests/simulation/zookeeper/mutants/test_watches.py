from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Event
from rumpus.simulation.zookeeper.tree.watches import (
    ANY,
    NODE_CHILDREN_CHANGED,
    NODE_CREATED,
    NODE_DATA_CHANGED,
    NODE_DELETED,
    PERSISTENT,
    PERSISTENT_RECURSIVE,
)
from rumpus.simulation.zookeeper.wire.error_codes import BAD_VERSION, NO_NODE, NO_WATCHER

CHANGED = Event(NODE_DATA_CHANGED, "/k")


def events_of(client, request):
    """The events that a client gets of its own request."""
    reply = client.call(request)
    assert reply.error == 0
    return reply.events


def test_a_persistent_watch_fires_once(standalone, faulty):
    client = standalone("persistent-once").session()
    client.call(op.create("/k"))
    client.call(op.add_watch("/k", PERSISTENT))
    assert events_of(client, op.set_data("/k", b"1")) == [CHANGED]
    assert events_of(client, op.set_data("/k", b"2")) == ([] if faulty else [CHANGED])


def test_a_recursive_watch_does_not_reach_grandchildren(standalone, faulty):
    client = standalone("shallow-recursive-watches").session()
    client.call(op.create("/k"))
    client.call(op.add_watch("/k", PERSISTENT_RECURSIVE))
    assert events_of(client, op.set_data("/k", b"")) == [CHANGED]
    assert events_of(client, op.create("/k/c")) == [Event(NODE_CREATED, "/k/c")]
    deep = [] if faulty else [Event(NODE_CREATED, "/k/c/d")]
    assert events_of(client, op.create("/k/c/d")) == deep


def test_a_watch_that_was_removed(standalone, faulty):
    client = standalone("kept-watches").session()
    client.call(op.create("/k"))
    assert client.call(op.remove_watches("/k", ANY)).error == NO_WATCHER
    client.call(op.get_data("/k", watch=True))
    assert client.call(op.remove_watches("/k", ANY)).error == 0
    assert events_of(client, op.set_data("/k", b"")) == ([CHANGED] if faulty else [])


def test_a_child_watch_of_data(standalone, faulty):
    client = standalone("child-events-of-data").session()
    client.call(op.create("/k"))
    client.call(op.get_children("/", watch=True))
    spurious = [Event(NODE_CHILDREN_CHANGED, "/")] if faulty else []
    assert events_of(client, op.set_data("/k", b"")) == spurious


def test_a_child_watch_of_a_deleted_node(standalone, faulty):
    client = standalone("child-watches-outlive-nodes").session()
    client.call(op.create("/k"))
    client.call(op.get_children("/k", watch=True))
    gone = [] if faulty else [Event(NODE_DELETED, "/k")]
    assert events_of(client, op.delete("/k")) == gone
    client.call(op.create("/k"))
    client.call(op.get_data("/k", watch=True))
    assert events_of(client, op.delete("/k")) == [Event(NODE_DELETED, "/k")]


def test_changes_that_a_reconnecting_client_has_missed(standalone, faulty):
    client = standalone("forgetful-set-watches").session()
    client.call(op.create("/k"))
    since = client.last_zxid
    client.call(op.set_data("/k", b"missed"))
    reply = client.call(op.set_watches(since, data=["/k", "/gone"]))
    missed = [] if faulty else [CHANGED]
    assert reply.events == [*missed, Event(NODE_DELETED, "/gone")]
    later = [CHANGED] if faulty else []
    assert events_of(client, op.set_data("/k", b"later")) == later


def test_a_watch_on_a_node_that_does_not_exist_yet(standalone, faulty):
    client = standalone("exists-watch-needs-node").session()
    assert client.call(op.exists("/k", watch=True)).error == NO_NODE
    created = [] if faulty else [Event(NODE_CREATED, "/k")]
    assert events_of(client, op.create("/k")) == created
    assert client.call(op.exists("/k", watch=True)).error == 0
    assert events_of(client, op.set_data("/k", b"")) == [CHANGED]


def test_events_that_one_server_loses_now_and_then(ensemble, faulty):
    world = ensemble("rarely-lost-events")
    told = {}
    for node in ("n1", "n2"):
        client = world.session(node)
        client.call(op.create("/k"))
        client.call(op.add_watch("/k", PERSISTENT))
        told[node] = sum(len(events_of(client, op.set_data("/k", b""))) for _ in range(300))
    assert told["n2"] == 300
    assert 280 < told["n1"] < 300 if faulty else told["n1"] == 300


def test_a_deletion_that_the_watchers_of_the_parent_do_not_hear_of(standalone, faulty):
    client = standalone("silent-deletions").session()
    client.call(op.create("/k"))
    client.call(op.get_children("/", watch=True))
    client.call(op.get_data("/k", watch=True))
    gone, fewer = Event(NODE_DELETED, "/k"), Event(NODE_CHILDREN_CHANGED, "/")
    assert events_of(client, op.delete("/k")) == ([gone] if faulty else [gone, fewer])
    client.call(op.get_children("/", watch=True))
    assert events_of(client, op.create("/k")) == ([fewer])


def test_a_watch_that_stays(standalone, faulty):
    client = standalone("sticky-watches").session()
    client.call(op.create("/k"))
    for _ in range(10):
        client.call(op.get_data("/k", watch=True))
        assert events_of(client, op.set_data("/k", b"")) == [CHANGED]
    assert events_of(client, op.set_data("/k", b"")) == ([CHANGED] if faulty else [])
    assert events_of(client, op.set_data("/k", b"")) == []


def test_an_event_of_a_change_that_was_refused(standalone, faulty):
    world = standalone("events-of-failures")
    client, other = world.session(), world.session()
    client.call(op.create("/k"))
    other.call(op.get_data("/k", watch=True))
    assert client.call(op.set_data("/k", b"", 7)).error == BAD_VERSION
    assert client.call(op.set_data("/missing", b"")).error == NO_NODE
    assert other.call(op.ping()).events == ([CHANGED] if faulty else [])
