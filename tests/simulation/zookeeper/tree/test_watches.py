"""Which connections get which watch events, how often and in which order."""

import pytest

from rumpus.simulation.zookeeper.tree.watches import (
    ANY,
    CHILDREN,
    DATA,
    NODE_CHILDREN_CHANGED,
    NODE_CREATED,
    NODE_DATA_CHANGED,
    NODE_DELETED,
    PERSISTENT,
    PERSISTENT_RECURSIVE,
    WatchManager,
)
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import write_int, write_string
from tests.simulation.zookeeper.engine import create_op, set_op


@pytest.fixture
def client(client):
    """The connection that sets watches; /p exists."""
    client.create("/p")
    return client


@pytest.fixture
def other(engine):
    return engine.connect()


def test_exists_watches_what_is_missing(client, other):
    assert client.exists("/a", watch=True) == -101
    other.create("/a")
    other.set("/a")
    assert client.taken() == [(NODE_CREATED, "/a")]


def test_reads_that_fail_leave_no_watch(engine, client):
    assert client.get("/a", watch=True) == -101
    assert client.children("/a", watch=True) == -101
    client.create("/hidden", acl=((4, "world", "anyone"),))
    assert client.get("/hidden", watch=True) == -102
    assert client.children("/hidden", watch=True) == -102
    assert engine.watches.count() == 0
    client.ask(opcodes.EXISTS, write_string("/a\0") + b"\1")
    assert client.error == -8
    assert engine.watches.count() == 0


def test_two_registrations_in_one_table_are_one(client, other):
    client.get("/p", watch=True)
    client.exists("/p", watch=True)
    other.set("/p")
    assert client.taken() == [(NODE_DATA_CHANGED, "/p")]
    other.set("/p")
    assert client.taken() == []


def test_a_deletion_is_told_once_and_then_to_the_parent(client, other):
    client.create("/p/c")
    client.get("/p/c", watch=True)
    client.children("/p/c", watch=True)
    client.children("/p", watch=True)
    other.delete("/p/c")
    assert client.taken() == [(NODE_DELETED, "/p/c"), (NODE_CHILDREN_CHANGED, "/p")]


def test_a_deletion_is_told_to_child_watches(engine, client, other):
    client.children("/p", watch=True)
    other.delete("/p")
    assert client.taken() == [(NODE_DELETED, "/p")]
    assert engine.watches.count() == 0


def test_children_of_the_root(client, other):
    client.children("/", watch=True)
    other.create("/q")
    assert client.taken() == [(NODE_CHILDREN_CHANGED, "/")]


def test_failed_writes_tell_nothing(client):
    client.get("/p", watch=True)
    client.children("/p", watch=True)
    client.set("/p", b"", 5)
    client.delete("/p", 5)
    client.multi(set_op("/p"), create_op("/p"))
    assert client.taken() == []


def test_what_tells_nothing_at_all(client, other):
    client.children("/p", watch=True)
    other.set("/p")
    client.get("/p", watch=True)
    other.set_acl("/p", ((31, "world", "anyone"),))
    assert client.taken() == []


def test_identical_data_are_a_change(client, other):
    client.get("/p", watch=True)
    other.set("/p", b"")
    assert client.taken() == [(NODE_DATA_CHANGED, "/p")]


def test_multis_tell_in_order_and_merge_nothing(client):
    client.add_watch("/p", PERSISTENT)
    client.multi(set_op("/p"), create_op("/p/a"), set_op("/p"))
    assert client.taken() == [
        (NODE_DATA_CHANGED, "/p"),
        (NODE_CHILDREN_CHANGED, "/p"),
        (NODE_DATA_CHANGED, "/p"),
    ]


def test_persistent_watches(client, other):
    client.add_watch("/p", PERSISTENT)
    other.create("/p/c")
    other.set("/p")
    other.set("/p/c")
    other.delete("/p/c")
    assert [kind for kind, _ in client.taken()] == [4, 3, 4]
    other.delete("/p")
    other.create("/p")
    assert client.taken() == [(NODE_DELETED, "/p"), (NODE_CREATED, "/p")]


def test_recursive_watches(client, other):
    client.add_watch("/p", PERSISTENT_RECURSIVE)
    other.create("/p/c")
    other.create("/p/c/d")
    other.create("/pc")
    other.set("/p/c/d")
    other.delete("/p/c/d")
    other.delete("/p/c")
    other.set("/p")
    assert client.taken() == [
        (1, "/p/c"),
        (1, "/p/c/d"),
        (3, "/p/c/d"),
        (2, "/p/c/d"),
        (2, "/p/c"),
        (3, "/p"),
    ]


def test_a_recursive_watch_of_the_root(client, other):
    client.add_watch("/", PERSISTENT_RECURSIVE)
    other.set("/p")
    other.set("/")
    assert client.taken() == [(3, "/p"), (3, "/")]


def test_nested_recursive_watches_are_told_once(client, other):
    client.add_watch("/", PERSISTENT_RECURSIVE)
    client.add_watch("/p", PERSISTENT_RECURSIVE)
    client.get("/p", watch=False)
    other.set("/p")
    assert client.taken() == [(3, "/p")]


@pytest.mark.parametrize("mode", [PERSISTENT, PERSISTENT_RECURSIVE])
def test_a_plain_watch_downgrades(client, other, mode):
    client.add_watch("/p", mode)
    client.get("/p", watch=True)
    other.set("/p")
    other.set("/p")
    assert client.taken() == [(3, "/p")]


def test_a_plain_watch_downgrades_in_its_own_table_only(client, other):
    client.add_watch("/p", PERSISTENT)
    client.get("/p", watch=True)
    for name in "ab":
        other.create(f"/p/{name}")
    assert client.taken() == [(4, "/p")] * 2
    client.children("/p", watch=True)
    for name in "cd":
        other.create(f"/p/{name}")
    assert client.taken() == [(4, "/p")]


def test_a_persistent_watch_upgrades(client, other):
    client.get("/p", watch=True)
    client.add_watch("/p", PERSISTENT)
    other.set("/p")
    other.set("/p")
    assert client.taken() == [(3, "/p")] * 2


def test_modes_are_those_of_one_connection(client, other):
    client.add_watch("/p", PERSISTENT)
    other.get("/p", watch=True)
    for _ in range(2):
        client.set("/p")
    assert client.taken() == [(3, "/p")] * 2
    assert other.taken() == [(3, "/p")]


def test_add_watch_asks_for_nothing_but_the_mode(client):
    assert client.add_watch("/p", 7) == -5
    assert client.add_watch("/nope", 0) == 0
    assert client.add_watch("bad//p", 1) == 0
    reader = client.ask(opcodes.ADD_WATCH, write_string("/p") + write_int(0))
    assert reader.data == write_int(0)


def test_removal(engine, client, other):
    client.get("/p", watch=True)
    other.get("/p", watch=True)
    assert client.remove_watches("/p", CHILDREN) == -121
    assert client.remove_watches("/p", DATA) == 0
    assert client.remove_watches("/p", DATA) == -121
    assert client.remove_watches("/p", 4) == -5
    assert client.taken() == []
    client.set("/p")
    assert client.taken() == []
    assert other.taken() == [(3, "/p")]
    assert engine.watches.count() == 0


def test_removal_of_any(engine, client):
    client.add_watch("/p", PERSISTENT_RECURSIVE)
    client.add_watch("/q", PERSISTENT_RECURSIVE)
    assert client.remove_watches("/p", ANY) == 0
    client.set("/p")
    assert client.taken() == []
    client.create("/q")
    assert client.taken() == [(1, "/q")]
    assert engine.watches.count() == 2


def test_half_a_persistent_watch_is_still_persistent(client):
    client.add_watch("/p", PERSISTENT)
    assert client.remove_watches("/p", CHILDREN) == 0
    client.set("/p")
    client.set("/p")
    client.create("/p/c")
    assert client.taken() == [(3, "/p")] * 2


def test_checks_are_content_with_anybodys_watch(client, other):
    def check(kind):
        other.ask(opcodes.CHECK_WATCHES, write_string("/p") + write_int(kind))
        return other.error

    client.get("/p", watch=True)
    assert [check(kind) for kind in (CHILDREN, DATA, ANY, 0)] == [-121, 0, 0, -5]


def test_a_missing_path_is_not_watched_and_cannot_be_checked(client):
    for kind, removal in ((CHILDREN, -121), (DATA, -121), (ANY, -121), (4, -5)):
        client.ask(opcodes.REMOVE_WATCHES, write_string(None) + write_int(kind))
        assert client.error == removal
        client.ask(opcodes.CHECK_WATCHES, write_string(None) + write_int(kind))
        assert client.error == -5


def check(client, path, kind):
    client.ask(opcodes.CHECK_WATCHES, write_string(path) + write_int(kind))
    return client.error


KINDS = (CHILDREN, DATA, ANY)


def test_checks_fail_without_any_slash(client):
    client.exists("x", watch=True)
    assert [check(client, "x", kind) for kind in KINDS] == [-5, -5, -5]
    client.add_watch("x", PERSISTENT_RECURSIVE)
    assert [check(client, "x", kind) for kind in KINDS] == [-5, -5, -5]


def test_checks_never_find_an_empty_path(client):
    client.add_watch("", PERSISTENT_RECURSIVE)
    assert [check(client, "", kind) for kind in KINDS] == [-121, -121, -121]


def test_checks_walk_to_the_root_while_there_are_recursive_watches(client, other):
    assert [check(client, "a/b", kind) for kind in KINDS] == [-121, -121, -121]
    other.add_watch("/z", PERSISTENT_RECURSIVE)
    assert [check(client, "a/b", kind) for kind in KINDS] == [-5, -5, -5]
    assert [check(client, "/a//b", kind) for kind in KINDS] == [-121, -121, -121]
    client.exists("a/b", watch=True)
    assert [check(client, "a/b", kind) for kind in KINDS] == [-5, 0, -5]
    client.add_watch("a/b", PERSISTENT)
    assert [check(client, "a/b", kind) for kind in KINDS] == [0, 0, 0]


def test_replay(engine, client, other):
    client.create("/changed")
    client.create("/gone")
    client.create("/parent")
    since = engine.zxid
    other.set("/changed")
    other.delete("/gone")
    other.create("/parent/x")
    tables = (
        ["/changed", "/gone", "/p"],
        ["/p", "/nope"],
        ["/parent", "/gone", "/p"],
        ["/p/persistent"],
        ["/p/recursive"],
    )
    assert client.set_watches(since, *tables) == 0
    assert client.taken() == [
        (3, "/changed"),
        (2, "/gone"),
        (1, "/p"),
        (4, "/parent"),
        (2, "/gone"),
    ]
    other.set("/p")
    other.create("/nope")
    other.create("/p/recursive")
    other.create("/p/recursive/x")
    other.create("/p/persistent")
    other.set("/p/persistent")
    assert client.taken() == [
        (3, "/p"),
        (1, "/nope"),
        (1, "/p/recursive"),
        (4, "/p"),
        (1, "/p/recursive/x"),
        (1, "/p/persistent"),
        (3, "/p/persistent"),
    ]


def test_replay_needs_vectors(client):
    assert client.set_watches(0, None, [], []) == -5
    assert client.set_watches(0, [], [], []) == 0


def test_a_session_that_closes(client, other):
    other.create("/p/a", flags=1)
    other.create("/p/b", flags=1)
    client.children("/p", watch=True)
    client.exists("/p/a", watch=True)
    client.exists("/p/b", watch=True)
    other.close()
    events = client.taken()
    assert sorted(events) == [(2, "/p/a"), (2, "/p/b"), (4, "/p")]
    assert events[1] == (4, "/p")


def test_connections_that_go_leave_nothing(engine, client, other):
    for connection in (client, other):
        connection.get("/p", watch=True)
        connection.children("/p", watch=True)
        connection.add_watch("/q", PERSISTENT_RECURSIVE)
    engine.watches.remove_connection(client)
    engine.watches.remove_connection(client)
    engine.connect().set("/p")
    assert client.taken() == []
    assert other.taken() == [(3, "/p")]
    engine.watches.remove_connection(other)
    assert engine.watches.count() == 0
    for table in (engine.watches.data, engine.watches.children):
        assert table._modes.by_watch == {}
        assert table._modes.recursive == 0


def test_figures_are_of_data_watches_only(engine, client, other):
    client.children("/p", watch=True)
    assert engine.watches.data_summary() == (0, 0, 0)
    client.get("/p", watch=True)
    other.get("/p", watch=True)
    other.exists("/q", watch=True)
    assert engine.watches.data_summary() == (2, 2, 3)
    assert engine.watches.count() == 4


def test_several_connections_are_told_in_the_order_of_their_registration():
    told = []

    class Watcher:
        def __init__(self, name):
            self.name = name

        def send_event(self, kind, path):
            told.append((self.name, kind, path))

    watches = WatchManager()
    for name in "cab":
        watches.data.add("/p", Watcher(name))
    watches.changed("/p")
    assert told == [("c", 3, "/p"), ("a", 3, "/p"), ("b", 3, "/p")]
