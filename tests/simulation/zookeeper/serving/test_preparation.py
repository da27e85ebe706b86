"""Validation: precedence of errors, zxids of failed writes, outstanding changes."""

import pytest

from rumpus.simulation.zookeeper.serving.outstanding_changes import KEPT
from rumpus.simulation.zookeeper.tree.access_control import digest_id
from rumpus.simulation.zookeeper.tree.transactions import ErrorTxn
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.jute import write_acl, write_buffer, write_int, write_string
from rumpus.simulation.zookeeper.wire.permissions import ALL, CREATE, DELETE, OPEN, READ
from rumpus.simulation.zookeeper.wire.request import Request
from tests.simulation.zookeeper.engine import Engine, create_body

ME = ("digest", digest_id(b"u:p"))
ONLY_ME = ((ALL, *ME),)


def test_the_fresh_tree(client):
    root = client.exists("/")
    assert (root.children, root.cversion, root.czxid, root.pzxid) == (1, -1, 0, 0)
    assert client.children("/zookeeper") == ["config", "quota"]
    assert client.exists("/zookeeper").cversion == -2
    assert client.exists("/zookeeper/config").aversion == -1


def test_failed_writes_take_a_zxid_and_are_logged_as_errors(engine, client):
    client.create("/a")
    before = engine.zxid
    assert client.create("/a") == -110
    assert client.set("/a", b"", 7) == -103
    assert client.set("/nope", b"") == -101
    assert engine.zxid == before + 3
    entry = engine.entries[-1]
    assert entry.header.type == opcodes.ERROR
    assert entry.transaction == ErrorTxn(-101)
    assert entry.digest is None
    assert len(entry.payload) == 36


def test_reads_take_none_and_are_no_entries(engine, client):
    before = engine.zxid
    client.exists("/")
    assert client.ask(opcodes.SYNC, write_string("any//thing")).read_string() == "any//thing"
    assert client.ask(opcodes.SYNC, write_string(None)).read_string() is None
    assert client.error == 0
    assert engine.zxid == before


def test_a_cut_off_create_takes_a_zxid(engine, client):
    before = engine.zxid
    client.ask(opcodes.CREATE, create_body("/a")[:-1])
    assert client.error == -5
    assert client.create(None) == -5
    assert engine.zxid == before + 2
    client.ask(opcodes.GET_DATA, write_string("/")[:-1])
    assert client.error == -5
    client.ask(opcodes.GET_DATA, write_string(None) + b"\0")
    assert client.error == -5
    assert client.get("/") == b""


def test_the_list_is_looked_at_before_the_parent(client):
    assert client.create("/nope/x", acl=()) == -114
    assert client.create("x", acl=()) == -8


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/", -110),
        ("", -8),
        ("a", -8),
        ("/z/", -8),
        ("/z/..", -8),
        ("/z/\x01", -8),
        ("/z\0", -8),
        ("/z//b", -101),
        ("/z/./b", -101),
        ("/z/...", "/z/..."),
        ("/z/.x", "/z/.x"),
    ],
)
def test_paths_of_creations(client, path, code):
    client.create("/z")
    assert client.create(path) == code


def test_flags(client):
    assert client.create("/a", flags=9) == -8
    assert client.create("/a", flags=-1) == -8
    assert client.create("/a", flags=5) == -6
    assert client.create("/a", flags=6) == -6
    assert client.create("/a", flags=5, kind=opcodes.CREATE_TTL, ttl=-7) == -6


def test_flags_and_times_to_live_with_extended_types():
    client = Engine(extended_types=True).connect()
    assert client.create("/a", flags=5) == -8
    ttl = opcodes.CREATE_TTL
    assert client.create("/a", flags=5, kind=ttl, ttl=0) == -8
    assert client.create("/a", flags=5, kind=ttl, ttl=1 << 40) == -8
    assert client.create("/a", flags=0, kind=ttl, ttl=5) == -8
    # A real server dies of this one.
    assert client.create("/a", flags=0, kind=ttl, ttl=-1) == -8
    assert client.create("/a", flags=5, kind=ttl, ttl=(1 << 40) - 1) == "/a"
    assert client.create("/a/n", flags=6, kind=ttl, ttl=1) == "/a/n0000000000"
    assert client.exists("/a").owner == 0


def test_ephemerals_have_no_children(client):
    client.create("/e", flags=1)
    assert client.create("/e/x") == -108
    assert client.create("/e") == -110
    assert client.exists("/e").owner == client.session


def test_containers(engine, client):
    path = client.create("/c", flags=4, kind=opcodes.CREATE_CONTAINER)
    assert path == "/c"
    assert client.exists("/c").owner == 0
    assert "/c" in engine.tree.containers
    assert client.create("/d", flags=4) == "/d"
    assert "/d" not in engine.tree.containers
    client.create("/f", flags=1, kind=opcodes.CREATE_CONTAINER)
    assert "/f" in engine.tree.containers
    assert client.create("/c/x") == "/c/x"


def test_numbers_of_sequences(client):
    client.create("/s")
    names = [client.create("/s/n-", flags=2) for _ in range(3)]
    assert names == [f"/s/n-000000000{i}" for i in range(3)]
    client.delete(names[1])
    assert client.create("/s/n-", flags=2) == "/s/n-0000000003"
    client.create("/s/plain")
    assert client.create("/s/n-", flags=2) == "/s/n-0000000005"
    assert client.create("/s/plain") == -110
    assert client.create("/s/", flags=3) == "/s/0000000006"


def test_numbers_go_on_below_zero(engine, client):
    client.create("/s")
    engine.tree.nodes["/s"].cversion = -5
    engine.preparer = engine.new_preparer()
    assert client.create("/s/n", flags=2) == "/s/n-000000005"


def test_cversion_and_pzxid(client):
    client.create("/p")
    client.create("/p/a")
    client.create("/p/b")
    client.delete("/p/a")
    at = client.zxid
    client.set("/p/b", b"1")
    stat = client.exists("/p")
    assert (stat.cversion, stat.pzxid, stat.children, stat.version) == (3, at, 1, 0)


def test_set_acl_changes_aversion_only(client):
    client.create("/a")
    before = client.exists("/a")
    stat = client.set_acl("/a", ((31, "ip", "10.0.0.1"),), 0)
    assert stat == {**before, "aversion": 1}
    assert client.set_acl("/a", OPEN, 0) == -103


def test_create2_answers_with_a_stat(client):
    reader = client.ask(opcodes.CREATE2, create_body("/a", b"abc"))
    assert reader.read_text() == "/a"
    assert len(reader.rest()) == 68
    assert not client.ask(opcodes.CREATE, create_body("/b")).data[6:]


def test_null_data_stay_null(client):
    client.create("/a")
    assert client.set("/a", None).length == 0
    assert client.get("/a") is None
    assert client.error == 0


def test_bad_version_beats_not_empty(client):
    client.create("/a")
    client.create("/a/b")
    assert client.delete("/a", 3) == -103
    assert client.delete("/a", 0) == -111


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/", -8),
        ("/zookeeper", -8),
        ("/zookeeper/quota", -8),
        ("/zookeeper/config", -8),
        ("a", -8),
        ("/a\0", -8),
        ("/a/..", -101),
        ("//x", -101),
        ("/no/such", -101),
    ],
)
def test_paths_of_deletions(client, path, code):
    client.create("/a")
    assert client.delete(path) == code


def test_versions_of_set_data(client):
    client.create("/a")
    assert client.set("/a", b"", -2) == -103
    assert client.set("/nope", b"", 5) == -101
    assert client.set("//x") == -8
    assert client.set("/zookeeper/config") == -102
    assert client.set("/", b"r").version == 1
    assert client.get("") == b"r"
    assert client.set("/zookeeper", b"z").version == 1


def test_versions_are_java_ints(engine, client):
    client.create("/a")
    engine.tree.nodes["/a"].version = 0x7FFFFFFF
    engine.preparer = engine.new_preparer()
    assert client.set("/a").version == -0x80000000


def test_set_acl_looks_at_the_list_before_the_node(client):
    assert client.set_acl("/nope", ()) == -114
    assert client.set_acl("/nope", OPEN) == -101
    assert client.set_acl("nope", ()) == -8


def test_reconfig_is_disabled(client):
    body = write_string(None) * 3 + bytes(8)
    client.ask(opcodes.RECONFIG, body)
    assert client.error == -123


def test_reconfig_needs_an_ensemble():
    client = Engine(reconfig=True).connect()
    client.ask(opcodes.RECONFIG, write_string(None) * 3 + bytes(8))
    assert client.error == -6


def test_lists_of_others(engine, client):
    owner = engine.connect(ME)
    owner.create("/mine", acl=((ALL, "auth", ""),))
    assert owner.acl("/mine") == ONLY_ME
    assert client.exists("/mine").version == 0
    assert client.get("/mine") == -102
    assert client.children("/mine") == -102
    assert client.acl("/mine") == -102
    assert client.create("/mine/x") == -102
    assert client.set("/mine", b"", 99) == -102
    assert client.set_acl("/mine", OPEN, 99) == -102
    owner.set_acl("/mine", (*ONLY_ME, (READ, "world", "anyone")))
    assert client.acl("/mine") == ((ALL, "digest", "u:x"), (READ, "world", "anyone"))
    assert client.delete("/mine") == 0


def test_no_auth_beats_existence(engine, client):
    engine.connect(ME).create("/p", acl=((ALL, "auth", ""),))
    engine.connect(ME).create("/p/a")
    assert client.create("/p/a") == -102
    assert client.delete("/p/nope") == -102


def test_each_permission_is_what_is_asked(engine):
    client = engine.connect()
    client.create("/c", acl=((CREATE, "world", "anyone"),))
    assert client.create("/c/x") == "/c/x"
    assert client.delete("/c/x") == -102
    client.create("/d", acl=((CREATE | DELETE, "world", "anyone"),))
    client.create("/d/x", acl=((0, "world", "anyone"),))
    assert client.delete("/d/x") == 0


def test_acls_can_be_skipped():
    client = Engine(skip_acl=True).connect()
    client.create("/a", acl=((0, "world", "anyone"),))
    assert client.get("/a") == b""
    assert client.set("/a").version == 1


def test_a_check_by_itself(engine, client):
    client.create("/a")
    for path, version, code in [("/a", 3, -103), ("/b", 0, -101), ("/a", 0, -8)]:
        client.ask(opcodes.CHECK, write_string(path) + write_int(version))
        assert client.error == code
        assert engine.entries[-1].header.type == opcodes.ERROR


@pytest.mark.parametrize("code", [-12, -112, -118])
def test_sessions_are_checked(engine, client, code):
    client.create("/a")
    engine.refused[client.session] = code
    assert client.create("/b") == code
    assert client.create("/b", flags=9) == -8
    assert client.create("x", acl=()) == code
    for kind in (opcodes.DELETE, opcodes.SET_DATA, opcodes.SET_ACL, opcodes.CHECK):
        client.ask(kind, b"")
        assert client.error == code


def test_pipelined_requests_see_each_other(engine, client):
    prepare = engine.preparer.prepare

    def ask(kind, body):
        return prepare(Request(client.session, 1, kind, body, client.identities, client))

    entries = [
        ask(opcodes.CREATE, create_body("/a")),
        ask(opcodes.CREATE, create_body("/a")),
        ask(opcodes.CREATE, create_body("/a/n", flags=2)),
        ask(opcodes.CREATE, create_body("/a/n", flags=3)),
        ask(opcodes.DELETE, write_string("/a") + write_int(-1)),
        ask(opcodes.SET_DATA, write_string("/a") + write_buffer(b"x") + write_int(0)),
        ask(opcodes.SET_DATA, write_string("/a") + write_buffer(b"y") + write_int(0)),
        ask(opcodes.SET_ACL, write_string("/a") + write_acl(ONLY_ME) + write_int(0)),
        ask(opcodes.SET_DATA, write_string("/a") + write_buffer(b"y") + write_int(1)),
        ask(opcodes.CLOSE_SESSION, b""),
    ]
    errors = [getattr(entry.transaction, "error", 0) for entry in entries]
    assert errors == [0, -110, 0, 0, -111, 0, -103, 0, 0, 0], "the former list counts as yet"
    assert entries[3].transaction.path == "/a/n0000000001"
    assert entries[-1].transaction.paths == ("/a/n0000000001",)
    for entry in entries:
        engine.tree.apply(entry)
        assert entry.digest is None or entry.digest == engine.tree.digest()
        engine.preparer.committed(entry.header.zxid)
    assert sorted(engine.tree.nodes["/a"].children) == ["n0000000000"]
    set_data = write_string("/a") + write_buffer(b"y") + write_int(-1)
    assert ask(opcodes.SET_DATA, set_data).transaction.error == -102


def test_what_has_been_applied_is_forgotten_in_the_end(engine, client):
    for number in range(3 * KEPT):
        client.create(f"/{number}")
    assert len(engine.preparer.changes._done) == KEPT
    # The root and the last nodes.
    assert len(engine.preparer.changes._latest) == KEPT + 1


def test_what_has_not_been_applied_is_not_forgotten(engine, client):
    for number in range(3 * KEPT):
        body = create_body(f"/{number}")
        engine.preparer.prepare(Request(client.session, 1, opcodes.CREATE, body))
        engine.preparer.committed(client.zxid)
    assert len(engine.preparer.changes._done) == 3 * KEPT
    assert client.create("/0") == -110


def test_what_a_closing_session_takes_along(engine, client):
    """Deletions and creations that are not applied yet count; so does who creates anew."""
    other = engine.connect()
    client.create("/kept", flags=1)
    client.create("/gone", flags=1)
    client.create("/taken", flags=1)

    def prepare(who, kind, body):
        entry = engine.preparer.prepare(Request(who.session, 1, kind, body, who.identities, who))
        assert not isinstance(entry.transaction, ErrorTxn)
        return entry

    prepare(client, opcodes.DELETE, write_string("/gone") + write_int(-1))
    prepare(client, opcodes.DELETE, write_string("/taken") + write_int(-1))
    prepare(other, opcodes.CREATE, create_body("/taken", flags=1))
    prepare(client, opcodes.CREATE, create_body("/new", flags=1))
    closing = prepare(client, opcodes.CLOSE_SESSION, b"")
    assert sorted(closing.transaction.paths) == ["/kept", "/new"]


def test_closing_a_session(engine, client):
    client.create("/p")
    client.create("/p/a", flags=1)
    client.create("/p/b", flags=1)
    client.close()
    other = engine.connect()
    assert client.error == 0
    stat = other.exists("/p")
    assert (stat.children, stat.cversion, stat.pzxid) == (0, 4, client.zxid)
    assert engine.tree.ephemerals == {}


def test_delete_container(engine, client):
    client.create("/c", flags=4, kind=opcodes.CREATE_CONTAINER)
    client.create("/c/x")
    client.create("/e", flags=1)
    for path, code in [("/c", -111), ("/e", -103), ("/nope", -101), ("/c/x", 0), ("/c", 0)]:
        result = engine.do(Request(0, 0, opcodes.DELETE_CONTAINER, path.encode()))
        assert result == (code, b"")
    header = engine.entries[-1].header
    assert (header.type, header.session, header.cxid) == (20, 0, 0)
    client.ask(opcodes.DELETE_CONTAINER, write_string("/e"))
    assert client.error == -8
