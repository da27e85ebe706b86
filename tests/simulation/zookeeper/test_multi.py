from rumpus.simulation.zookeeper.storage.log_records import parse
from rumpus.simulation.zookeeper.tree.transactions import CreateTxn, ErrorTxn
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.request import Request
from tests.simulation.zookeeper.engine import (
    Engine,
    check_op,
    create_body,
    create_op,
    delete_op,
    get_op,
    multi_body,
    set_op,
)


def test_all_of_it_with_one_zxid():
    engine = Engine()
    client = engine.connect()
    before = engine.zxid
    results = client.multi(
        create_op("/a"), check_op("/a", 0), set_op("/a", b"x", 0), delete_op("/a", 1)
    )
    assert client.error == 0
    assert [result[:2] for result in results] == [(1, 0), (13, 0), (5, 0), (2, 0)]
    assert results[0][2] == "/a"
    assert results[2][2].version == 1
    assert engine.zxid == before + 1
    assert client.exists("/a") == -101


def test_failing_in_the_middle():
    engine = Engine()
    client = engine.connect()
    digest = engine.tree.digest()
    results = client.multi(create_op("/a"), check_op("/a", 3), create_op("/b"))
    assert client.error == 0
    assert results == [(-1, 0, None), (-1, -103, None), (-1, -2, None)]
    assert client.exists("/a") == -101
    entry = engine.entries[-1]
    assert entry.header.type == opcodes.MULTI
    kinds = [kind for kind, _ in entry.transaction.operations]
    assert kinds == [1, -1, -1]
    assert isinstance(entry.transaction.operations[0][1], CreateTxn)
    assert entry.transaction.operations[1:] == ((-1, ErrorTxn(-103)), (-1, ErrorTxn(-2)))
    assert entry.digest == digest
    assert parse(entry.payload) == entry


def test_failing_at_once():
    client = Engine().connect()
    assert client.multi(delete_op("/nope"), create_op("/a")) == [(-1, -101, None), (-1, -2, None)]


def test_an_empty_one():
    engine = Engine()
    client = engine.connect()
    before = engine.zxid
    assert client.multi() == []
    assert client.error == 0
    assert engine.zxid == before + 1


def test_sequence_numbers():
    client = Engine().connect()
    client.create("/s")
    results = client.multi(create_op("/s/n", 2), create_op("/s/n", 2))
    assert [result[2] for result in results] == ["/s/n0000000000", "/s/n0000000001"]
    assert client.multi(create_op("/s/n", 2), check_op("/nope"))[1][1] == -101
    assert client.create("/s/n", flags=2) == "/s/n0000000002"


def test_types_of_creations_are_answered_by_their_flags():
    engine = Engine()
    client = engine.connect()
    results = client.multi(
        create_op("/a", 0, opcodes.CREATE2),
        create_op("/b", 4, opcodes.CREATE),
        create_op("/c", 4, opcodes.CREATE_CONTAINER),
        create_op("/d", 0, opcodes.CREATE_CONTAINER),
    )
    assert [result[0] for result in results] == [1, 15, 15, 1]
    assert list(engine.tree.containers) == ["/b", "/c"]
    assert [kind for kind, _ in engine.entries[-1].transaction.operations] == [1, 19, 19, 1]


def test_times_to_live():
    engine = Engine(extended_types=True)
    client = engine.connect()
    op = (opcodes.CREATE_TTL, create_body("/t", flags=5, ttl=77))
    assert client.multi(op)[0][:2] == (15, 0)
    assert list(engine.tree.ttls) == ["/t"]
    # No time to live is carried: the whole request makes no sense.
    assert client.multi(create_op("/u"), create_op("/v", 5)) == []
    assert client.error == -5


def test_other_operations_are_malformed():
    engine = Engine()
    client = engine.connect()
    before = engine.zxid
    for operations in ([get_op("/", opcodes.EXISTS)], [create_op("/a"), get_op("/")]):
        assert client.multi(*operations) == []
        assert client.error == -5
        assert client.exists("/a") == -101
    assert engine.zxid == before + 2


def test_a_stat_is_that_right_after_its_operation():
    client = Engine().connect()
    client.create("/a")
    results = client.multi(set_op("/a", b"1"), set_op("/a", b"22"))
    assert [(result[2].version, result[2].length) for result in results] == [(1, 1), (2, 2)]


def test_a_moved_session_is_not_answered():
    engine = Engine()
    client = engine.connect()
    engine.refused[client.session] = -118
    client.multi(create_op("/a"))
    assert client.error == -118


def test_changes_before_a_failed_multi_are_not_taken_back():
    engine = Engine()
    client = engine.connect()
    client.create("/p")

    def prepare(kind, body):
        entry = engine.preparer.prepare(Request(client.session, 1, kind, body, client.identities))
        assert entry is not None
        return entry

    failing = multi_body(
        set_op("/p", b"2", 1), create_op("/p/b"), delete_op("/p/a"), check_op("/p", 9)
    )
    entries = [
        prepare(opcodes.SET_DATA, set_op("/p", b"1")[1]),
        prepare(opcodes.CREATE, create_body("/p/a")),
        prepare(opcodes.MULTI, failing),
        prepare(opcodes.SET_DATA, set_op("/p", b"3", 1)[1]),
        prepare(opcodes.CREATE, create_body("/p/n", flags=2)),
        prepare(opcodes.CREATE, create_body("/p/a")),
    ]
    assert [entry.header.type for entry in entries] == [5, 1, 14, 5, 1, -1]
    assert entries[4].transaction.path == "/p/n0000000001"
    for entry in entries:
        engine.tree.apply(entry)
        assert entry.digest is None or entry.digest == engine.tree.digest()


def test_multi_read():
    engine = Engine()
    client = engine.connect()
    client.create("/a", b"x")
    before = engine.zxid
    results = client.multi(
        get_op("/a"),
        get_op("/nope"),
        get_op("/", opcodes.GET_CHILDREN),
        kind=opcodes.MULTI_READ,
    )
    assert client.error == 0
    assert [result[:2] for result in results] == [(4, 0), (-1, -101), (8, 0)]
    assert results[0][2][0] == b"x"
    assert results[2][2] == ["a", "zookeeper"]
    assert engine.zxid == before


def test_multi_read_does_not_write():
    client = Engine().connect()
    assert client.multi(create_op("/a"), kind=opcodes.MULTI_READ) == []
    assert client.error == -5
