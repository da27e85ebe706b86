"""Sessions that the service refuses, by a proxy on real sockets and by simulated gates alike."""

import struct

import pytest
from kazoo.protocol.serialization import Connect

from rumpus.harness.links.zookeeper_frames import EXPIRED
from tests.harness.conftest import ProcessWires
from tests.harness.links.packets import frame
from tests.harness.sim_wires import SimWires

SESSION, OTHER = 0x1000000000000AB, 0x1000000000000AC
WORLDS = {"processes": ProcessWires, "simulated": SimWires}


@pytest.fixture(params=WORLDS)
def wires(request):
    playing = WORLDS[request.param]()
    yield playing
    playing.close()


def asking_for(session):
    return frame(Connect(0, 0, 4000, session, bytes(16), read_only=False).serialize())


def granting(session):
    return frame(struct.pack(">iiq", 0, 4000, session) + struct.pack(">i", 16) + bytes(17))


def connected(wires, session, client=0, node="n1", *, asked=0):
    """A connection that has a session: a new one, or one that was asked for."""
    dialled, server = wires.pair(client, node)
    for source, target, data in (
        (dialled, server, asking_for(asked)),
        (server, dialled, granting(session)),
    ):
        source.sendall(data)
        assert wires.read(target, len(data)) == data
    return dialled, server


def passes(wires, source, target, data=b"\0\0\0\0"):
    source.sendall(data)
    assert wires.read(target, len(data)) == data


def is_told_that_it_expired(wires, client, node, session=SESSION):
    dialled, server = wires.pair(client, node)
    dialled.sendall(asking_for(session))
    assert wires.read(dialled, len(EXPIRED)) == EXPIRED
    assert server.recv(1) == b"", "nothing of it reached the server"


def test_kazoo_takes_the_answer_for_the_end_of_its_session():
    answer, _ = Connect.deserialize(EXPIRED, 4)
    assert len(EXPIRED) == 4 + struct.unpack_from(">i", EXPIRED)[0]
    assert (answer.time_out, answer.session_id, answer.passwd) == (0, 0, bytes(16))


def test_a_refused_session_is_cut_off_and_never_served_again(wires):
    ends = connected(wires, SESSION)
    others = connected(wires, OTHER, node="n2")
    wires.links.refuse_session(SESSION)
    assert all(map(wires.was_reset, ends))
    passes(wires, *others)
    for client, node in ((0, "n1"), (0, "n2"), (1, "n1")):
        is_told_that_it_expired(wires, client, node)
    connected(wires, OTHER, node="n1", asked=OTHER)
    connected(wires, 0x1000000000000AD)


def test_healing_does_not_let_it_in_again(wires):
    wires.links.refuse_session(SESSION)
    wires.links.heal()
    is_told_that_it_expired(wires, 0, "n1")


def test_who_has_asked_and_got_no_answer_yet_is_cut_off_too(wires):
    dialled, server = wires.pair()
    dialled.sendall(asking_for(SESSION))
    assert wires.read(server, len(asking_for(SESSION))) == asking_for(SESSION)
    wires.links.refuse_session(SESSION)
    assert wires.was_reset(dialled)
    assert wires.was_reset(server)


def test_a_cut_swallows_the_refusal(wires):
    wires.links.refuse_session(SESSION)
    wires.links.cut(0, "to-client")
    dialled = wires.dial()
    dialled.sendall(asking_for(SESSION))
    wires.eventually(lambda: wires.links.swallowed(0) == len(EXPIRED))
    assert wires.silent(dialled)


def test_mistakes_of_a_service_let_it_in_again(wires):
    for how, session in (("once", SESSION), ("one-server", OTHER)):
        ends = connected(wires, session)
        for _ in range(2):
            wires.links.refuse_session(session, how)
        assert all(map(wires.was_reset, ends))
        connected(wires, session, node="n2", asked=session)
    connected(wires, SESSION, node="n1", asked=SESSION)
    is_told_that_it_expired(wires, 0, "n1", OTHER)
