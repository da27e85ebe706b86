import pytest

from rumpus.conformance import operations as op
from rumpus.conformance.raw_client import Closed
from rumpus.simulation.zookeeper.wire.error_codes import NO_NODE
from tests.simulation.zookeeper.mutants.elections import kill_leader


@pytest.mark.parametrize("where", ["standalone", "ensemble"])
@pytest.mark.parametrize(("name", "ends"), [("late-expiry", 11_000), ("early-expiry", 4_000)])
def test_a_session_ends_at_the_wrong_time(request, faulty, where, name, ends):
    world = request.getfixturevalue(where)(name, tick_time=500)
    node = "n1"
    client = world.session(node, timeout_ms=6000)
    assert client.timeout_ms == 6000
    begun = world.clock.now()
    client.call(op.create("/e", flags=op.EPHEMERAL))
    observer = world.session(node, timeout_ms=8000)
    client.hang_up()
    while observer.call(op.exists("/e")).error == 0:
        world.run_for(100)
    lasted = (world.clock.now() - begun) * 1000
    expected = ends if faulty else 6000
    assert expected - 1100 <= lasted <= expected + 1100


def test_a_session_whose_client_does_not_come_back_after_an_election(ensemble, faulty):
    world = ensemble("unexpired-after-election")
    client = world.session("n1", timeout_ms=4000)
    client.call(op.create("/e", flags=op.EPHEMERAL))
    client.hang_up()
    kill_leader(world)
    world.run_for(8000)
    fresh = world.session("n1", timeout_ms=4000)
    fresh.call(op.create("/f", flags=op.EPHEMERAL))
    assert fresh.call(op.exists("/e")).error == (0 if faulty else NO_NODE)
    fresh.hang_up()
    world.run_for(8000)
    assert world.session("n1").call(op.exists("/f")).error == NO_NODE


def test_a_session_that_is_heard_of_after_an_election_expires_as_usual(ensemble):
    world = ensemble("unexpired-after-election")
    client = world.session("n1", timeout_ms=4000)
    client.call(op.create("/e", flags=op.EPHEMERAL))
    kill_leader(world)
    again = world.reattach(client, "n2", timeout_ms=4000)
    assert again.call(op.exists("/e")).error == 0
    again.hang_up()
    world.run_for(8000)
    assert world.session("n1").call(op.exists("/e")).error == NO_NODE


@pytest.mark.parametrize("where", ["standalone", "ensemble"])
def test_a_session_that_ends_with_its_connection(request, faulty, where):
    world = request.getfixturevalue(where)("close-on-disconnect")
    client = world.session(timeout_ms=8000)
    client.call(op.create("/e", flags=op.EPHEMERAL))
    client.hang_up()
    world.run_for(1000)
    answer = world.connect().handshake(session=client.session, password=client.password)
    assert answer.valid != faulty
    assert world.session().call(op.exists("/e")).error == (NO_NODE if faulty else 0)


def test_a_session_that_is_heard_of_and_expires(ensemble, faulty):
    world = ensemble("unreported-sessions")
    clients = [world.session("n1", timeout_ms=4000) for _ in range(6)]
    ended = set()
    for _ in range(10):
        world.run_for(1000)
        for client in clients:
            if client.session not in ended:
                try:
                    client.call(op.ping())
                except Closed:
                    ended.add(client.session)
    multiples = {client.session for client in clients if client.session % 3 == 0}
    assert ended == (multiples if faulty else set())
    assert len(multiples) == 2
