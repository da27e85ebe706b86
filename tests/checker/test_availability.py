from rumpus.checker.availability import availability
from tests.checker.laid_out import laid_out
from tests.checker.recorded import Recorded


def leader(recorded, ms, node):
    return recorded.add(ms, "control", "info", "leader", {"leader": node})


def connected(recorded, ms, client, f="connected"):
    return recorded.session(ms, client, f, client=client)


def test_the_shares_of_the_load_with_a_leader_and_with_a_connection():
    recorded = leader(Recorded(clients=2), 0, "n1")
    for client in (0, 1):
        connected(recorded, 0, client)
    connected(recorded, 20, 1, "suspended")
    leader(recorded, 40, None)
    leader(recorded, 60, "n2")
    connected(recorded, 80, 1)
    recorded.add(100, "control", "info", "phase", {"phase": "final", "healed": True})
    connected(recorded, 110, 0, "suspended")  # after the load: it does not count
    found = availability(laid_out(recorded.end(200).history()))
    assert (found.quorum, found.clients) == (0.8, [1.0, 0.4])


def test_a_client_that_never_connected_was_never_connected():
    recorded = connected(leader(Recorded(clients=2), 0, "n1"), 0, 0)
    assert availability(laid_out(recorded.end(100).history())).clients == [1.0, 0.0]


def test_an_outage_may_last_to_the_end():
    recorded = connected(leader(Recorded(clients=1), 0, "n1"), 0, 0)
    leader(recorded, 75, None)
    assert availability(laid_out(recorded.end(100).history())).quorum == 0.75


def test_what_nobody_recorded_is_not_known():
    assert availability(laid_out(Recorded(clients=1).end(100).history())) is None
    recorded = connected(Recorded(clients=1), 0, 0)
    assert availability(laid_out(recorded.end(100).history())).quorum is None
