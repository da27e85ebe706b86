"""Checks 50 to 63: watches and their events."""

from rumpus.conformance import operations as op
from rumpus.conformance.operations import OPEN
from rumpus.conformance.raw_client import Event, RawClient
from rumpus.conformance.registry import check, same
from rumpus.conformance.visit import Visit, done

CREATED, DELETED, CHANGED, CHILDREN = 1, 2, 3, 4


def events_by(client: RawClient, *requests: op.Operation) -> list[Event]:
    """What a client's own requests, all of which succeed, have it told before their replies."""
    told: list[Event] = []
    for request in requests:
        reply = client.call(request)
        done(reply)
        told += reply.events
    return told


def told_by_now(client: RawClient) -> list[Event]:
    """All events of changes that were answered before this call."""
    return client.call(op.ping()).events


@check(50, "exists watches a missing path: one NodeCreated, with zxid -1 and state 3")
def watch_for_creation(visit: Visit) -> None:
    watcher, other = visit.session(), visit.session()
    root = visit.directory(other, "/c50")
    same(watcher.call(op.exists(f"{root}/a", watch=True)).error, -101)
    done(other.call(op.create(f"{root}/a")))
    same(watcher.await_events(1), [Event(CREATED, f"{root}/a")])
    same(watcher.events_with_wrong_header, [])
    events_by(other, op.set_data(f"{root}/a", b"x"), op.delete(f"{root}/a"))
    same(told_by_now(watcher), [])


@check(51, "getData and getChildren of a missing path leave no watch")
def no_watch_on_missing(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c51")
    same(client.call(op.get_data(f"{root}/a", watch=True)).error, -101)
    same(client.call(op.get_children(f"{root}/a", watch=True)).error, -101)
    same(events_by(client, op.create(f"{root}/a"), op.create(f"{root}/a/b")), [])
    same(client.call(op.check_watches(f"{root}/a", 3)).error, -121)


@check(52, "getData and exists watches on a path are one")
def one_registration(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c52")
    events_by(client, op.get_data(root, watch=True), op.exists(root, watch=True))
    change = op.set_data(root, b"x")
    same(events_by(client, change, change), [Event(CHANGED, root)])


@check(53, "a deletion is told once of the znode, then of its parent's children")
def deletion(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c53")
    path = f"{root}/p"
    events_by(
        client,
        op.create(path),
        op.get_data(path, watch=True),
        op.get_children(path, watch=True),
        op.get_children(root, watch=True),
    )
    same(events_by(client, op.delete(path)), [Event(DELETED, path), Event(CHILDREN, root)])
    same(told_by_now(client), [])


@check(54, "the event of an own write comes before its reply; a failed write has none")
def own_write(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c54")
    done(client.call(op.get_data(root, watch=True)))
    reply = client.call(op.set_data(root, b"x", 9))
    same((reply.error, reply.events), (-103, []))
    same(client.call(op.set_data(root, b"x")).events, [Event(CHANGED, root)])


@check(55, "another's write is told before the reply of the next read")
def before_next_read(visit: Visit) -> None:
    watcher, other = visit.session(), visit.session()
    root = visit.directory(other, "/c55")
    done(watcher.call(op.get_data(root, watch=True)))
    done(other.call(op.set_data(root, b"x")))
    reply = watcher.call(op.get_data(root))
    same((reply.value[0], reply.events), (b"x", [Event(CHANGED, root)]))


@check(56, "setACL fires nothing, and a child watch not for the znode's data")
def what_does_not_fire(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c56")
    events_by(client, op.get_data(root, watch=True), op.get_children(root, watch=True))
    same(events_by(client, op.set_acl(root, OPEN)), [])
    same(events_by(client, op.set_data(root, b"x")), [Event(CHANGED, root)])
    same(events_by(client, op.create(f"{root}/c")), [Event(CHILDREN, root)])


@check(57, "a persistent watch tells of the znode and its children, again and again")
def persistent(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c57")
    child = f"{root}/c"
    done(client.call(op.add_watch(root, 0)))
    requests = (
        op.create(child),
        op.set_data(root, b"x"),
        op.set_data(child, b"x"),
        op.delete(child),
    )
    same(events_by(client, *requests), [Event(kind, root) for kind in (4, 3, 4)])


@check(58, "a recursive watch tells of all below, and never of children")
def recursive(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c58")
    child, grandchild = f"{root}/c", f"{root}/c/d"
    done(client.call(op.add_watch(root, 1)))
    requests = (
        op.create(child),
        op.create(grandchild),
        op.set_data(grandchild, b"x"),
        op.delete(grandchild),
        op.delete(child),
        op.set_data(root, b"x"),
    )
    wanted = [(1, child), (1, grandchild), (3, grandchild), (2, grandchild), (2, child), (3, root)]
    same(events_by(client, *requests), [Event(kind, path) for kind, path in wanted])


@check(59, "the last registration wins: getData makes a persistent watch a one-shot")
def downgrade(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c59")
    change = op.set_data(root, b"x")
    events_by(client, op.add_watch(root, 0), op.get_data(root, watch=True))
    same(events_by(client, change, change), [Event(CHANGED, root)])
    events_by(client, op.get_data(root, watch=True), op.add_watch(root, 0))
    same(events_by(client, change, change), [Event(CHANGED, root)] * 2)


@check(60, "addWatch refuses an unknown mode and takes any path")
def add_watch_arguments(visit: Visit) -> None:
    client = visit.session()
    same(client.call(op.add_watch("/", 7)).error, -5)
    for path in ("/c60/missing", "bad//p"):
        reply = client.call(op.add_watch(path, 0))
        same((reply.error, reply.value), (0, 0), path)


@check(61, "removeWatches removes from its table, without events, and only what is there")
def remove_watches(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c61")
    done(client.call(op.get_data(root, watch=True)))
    same(client.call(op.remove_watches(root, 1)).error, -121)
    reply = client.call(op.remove_watches(root, 2))
    same((reply.error, reply.events), (0, []))
    same(client.call(op.remove_watches(root, 2)).error, -121)
    same(events_by(client, op.set_data(root, b"x")), [])


@check(62, "setWatches tells of what was missed before its reply, and arms the rest")
def set_watches(visit: Visit) -> None:
    client = visit.session()
    root = visit.directory(client, "/c62")
    old, current = f"{root}/old", f"{root}/current"
    events_by(client, op.create(old), op.create(current))
    seen = client.call(op.ping()).zxid
    done(client.call(op.set_data(old, b"x")))
    reply = client.call(
        op.set_watches(seen, data=[old, f"{root}/gone", current], exist=[old]), xid=-8
    )
    same((reply.xid, reply.error, reply.body), (-8, 0, b""))
    wanted = [(CHANGED, old), (DELETED, f"{root}/gone"), (CREATED, old)]
    same(reply.events, [Event(kind, path) for kind, path in wanted])
    same(events_by(client, op.set_data(old, b"y")), [])
    same(events_by(client, op.set_data(current, b"y")), [Event(CHANGED, current)])


@check(63, "watches belong to a connection: a reattach has none of the old ones")
def gone_with_the_connection(visit: Visit) -> None:
    first = visit.session()
    root = visit.directory(first, "/c63")
    done(first.call(op.get_data(root, watch=True)))
    second = visit.reattach(first)
    same(events_by(second, op.set_data(root, b"x")), [])
    same(told_by_now(second), [])
