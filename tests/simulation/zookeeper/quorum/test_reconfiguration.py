import pytest

from rumpus.simulation.zookeeper.quorum.reconfiguration import next_members
from rumpus.simulation.zookeeper.serving.preparation import Preparer
from rumpus.simulation.zookeeper.settings import Member
from rumpus.simulation.zookeeper.tree.access_control import digest_id
from rumpus.simulation.zookeeper.wire import opcodes
from rumpus.simulation.zookeeper.wire.error_codes import (
    BAD_ARGUMENTS,
    BAD_VERSION,
    MARSHALLING_ERROR,
    Refusal,
)
from rumpus.simulation.zookeeper.wire.jute import write_long, write_string
from tests.simulation.zookeeper.engine import Engine, read_stat

PRESENT = (Member(1, "n1"), Member(2, "n2"), Member(3, "n3"))


def test_joining_and_leaving():
    members = next_members(
        PRESENT, "server.4=n4:1:2:observer;0.0.0.0:3,server.2=m2:2888:3888;2181", "3,9", None
    )
    assert members == (Member(1, "n1"), Member(2, "m2"), Member(4, "n4", 1, 2, "observer", 3))


def test_the_order_is_that_of_javas_hash_map():
    two = PRESENT[:2]
    found = next_members(two, "server.4=n4:1:2;3", None, None)
    assert [member.server_id for member in found] == [4, 1, 2], "in four buckets"
    found = next_members(two, "server.4=n4:1:2;3,server.3=n3:1:2;3", None, None)
    assert [member.server_id for member in found] == [1, 2, 3, 4], "in eight"
    found = next_members(two, None, None, "server.4=n4:1:2;3,server.1=n1:1:2;3")
    assert [member.server_id for member in found] == [1, 4], "in sixteen"


def test_all_members_anew():
    text = "server.5=a:1:2:participant;3\nserver.4=b:1:2;3\nversion=100000000"
    expected = (Member(4, "b", 1, 2, "participant", 3), Member(5, "a", 1, 2, "participant", 3))
    assert next_members(PRESENT, None, "1", text) == expected
    assert next_members(PRESENT, None, "1", text.replace("\n", ",")) == expected


@pytest.mark.parametrize(
    ("joining", "leaving", "new"),
    [
        ("server.4=n4:1:2", None, None),
        ("server.4=n4:1;3", None, None),
        ("n4:1:2;3", None, None),
        ("server.4=n4:1:2:leader;3", None, None),
        ("server.4=n1:2888:2;3", None, None),
        ("server.4=n4:1:1;3", None, None),
        (None, None, "nonsense"),
        (None, "2,3", None),
        (None, None, "server.1=n1:1:2;3"),
        (None, None, "server.1=n1:1:2;3\nserver.2=n2:1:2:observer;3"),
        (None, None, ""),
    ],
)
def test_what_is_refused(joining, leaving, new):
    with pytest.raises(Refusal) as raised:
        next_members(PRESENT, joining, leaving, new)
    assert raised.value.code == BAD_ARGUMENTS


@pytest.mark.parametrize(
    ("joining", "leaving", "new"),
    [
        ("server.x=n4:1:2;3", None, None),
        (None, "two", None),
        (None, None, "server.x=n4:1:2;3"),
    ],
)
def test_ids_that_are_no_numbers(joining, leaving, new):
    with pytest.raises(Refusal) as raised:
        next_members(PRESENT, joining, leaving, new)
    assert raised.value.code == MARSHALLING_ERROR


def ask(client, version=-1):
    body = write_string("joining") + write_string(None) * 2 + write_long(version)
    reader = client.ask(opcodes.RECONFIG, body)
    return client.error or (reader.read_buffer(), read_stat(reader))


def leading_engine():
    name = digest_id(b"super:admin")
    engine = Engine(reconfig=True, super_digest=name)

    def reconfigure(joining, leaving, new, version, zxid):
        if version not in (-1, 7):
            raise Refusal(BAD_VERSION)
        return f"{joining} {leaving} {new} {zxid}".encode()

    engine.preparer = Preparer(
        engine.tree,
        lambda session, _owner: engine.refused.get(session, 0),
        lambda: engine.now,
        engine.settings,
        engine.next_zxid,
        reconfigure,
    )
    return engine


def test_the_configuration_is_written_by_those_who_may():
    engine = leading_engine()
    client = engine.connect(("super", ""))
    watching = engine.connect()
    watching.get("/zookeeper/config", watch=True)
    data, stat = ask(client, 7)
    assert data == f"joining None None {client.zxid}".encode()
    assert (stat.version, stat.mzxid) == (-1, client.zxid)
    assert watching.taken() == [(3, "/zookeeper/config")]
    assert engine.entries[-1].header.type == opcodes.RECONFIG


def test_the_permission_comes_last():
    engine = leading_engine()
    client = engine.connect()
    assert ask(client, 6) == -103
    assert ask(client, 7) == -102
    engine.refused[client.session] = -112
    assert ask(client, 6) == -112
