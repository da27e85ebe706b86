import itertools

import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed
from rumpus.simulation.kernel.simulator import MILLISECOND
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE


@pytest.mark.parametrize("where", ["standalone", "ensemble"])
def test_a_wrong_password(request, faulty, where):
    world = request.getfixturevalue(where)("unchecked-password")
    owner = world.session()
    answer = world.connect().handshake(session=owner.session, password=b"x" * 16)
    assert answer.valid == faulty
    assert answer.session == (owner.session if faulty else 0)


def test_a_write_through_a_server_that_the_session_has_left(ensemble, faulty):
    world = ensemble("unmoved-sessions")
    old = world.session("n1")
    assert old.call(op.create("/before")).error == 0
    new = world.reattach(old, "n2")
    if faulty:
        assert old.call(op.create("/k")).error == 0
    else:
        with pytest.raises(Closed):
            old.call(op.create("/k"))
    new.call(op.sync("/"))
    assert new.call(op.exists("/k")).error == (0 if faulty else NO_NODE)


def test_a_write_that_comes_after_the_end_of_its_session(ensemble, faulty):
    world = ensemble("writes-after-expiry")
    last = world.session("n1")
    again = world.reattach(last, "n2")
    world.network.delay("n3", "n1", 500 * MILLISECOND)  # n1 learns of the end later
    assert again.close_session().error == 0
    last.send(op.create("/e", flags=op.EPHEMERAL), xid=1000)
    world.run_for(3000)
    found = world.session("n2").call(op.exists("/e"))
    assert found.error == (0 if faulty else NO_NODE)
    if faulty:
        assert found.value.ephemeral_owner == last.session


def test_two_sessions_with_one_id(standalone, faulty):
    world = standalone("shared-session-ids")
    clients = [world.session() for _ in range(30)]
    ids = {client.session for client in clients}
    if not faulty:
        assert len(ids) == 30
        return
    assert 15 < len(ids) < 30
    first, second = next((a, b) for a, b in itertools.pairwise(clients) if a.session == b.session)
    first.call(op.create("/e", flags=op.EPHEMERAL))
    assert second.close_session().error == 0
    assert world.session().call(op.exists("/e")).error == NO_NODE


def test_the_close_of_a_session_that_stays_on_a_follower(ensemble, faulty):
    world = ensemble("idle-close")
    client = world.session("n1", timeout_ms=4000)
    client.call(op.create("/e", flags=op.EPHEMERAL))
    assert client.close_session().error == 0
    assert client.closed_silently(1)
    other = world.session("n3")
    assert other.call(op.exists("/e")).error == (0 if faulty else NO_NODE)
    world.run_for(6000)
    assert other.call(op.exists("/e")).error == NO_NODE
