"""Lost replies and resets on links that many clients share, each named by its session."""

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

from rumpus.harness.links.link_process import ProcessLinks
from rumpus.testing.zookeeper import zookeeper


@pytest.fixture(scope="module")
def links():
    with zookeeper(nodes=1) as zk:
        host, _, port = zk.hosts.partition(":")
        with ProcessLinks({"n1": (host, int(port))}, clients=1) as links:
            yield links


@pytest.fixture
def clients(links):
    clients = [KazooClient(links.hosts(0)) for _ in range(2)]
    for client in clients:
        client.start(20)
        client.ensure_path("/here")
    yield clients
    links.heal()
    clients[0].delete("/here", recursive=True)
    for client in clients:
        client.stop()
        client.close()


def test_only_the_sessions_requests_of_that_kind_count(links, clients):
    one, other = clients
    links.drop_reply(0, "create", 2, one.client_id[0])
    for name in "abc":
        other.create(f"/here/{name}")
    one.create("/here/d")
    one.set("/here/d", b"1")
    assert links.in_force(0) == {"n1": "lost-reply"}
    with pytest.raises(ConnectionLoss):
        one.create("/here/e")
    assert links.in_force(0) == {}
    assert other.exists("/here/e")
    assert one.retry(one.create, "/here/f") == "/here/f"


def test_without_a_session_all_requests_count(links, clients):
    one, other = clients
    links.drop_reply(0, "set-data", 2)
    one.set("/here", b"1")
    with pytest.raises(ConnectionLoss):
        other.set("/here", b"2")
    assert one.get("/here")[0] == b"2"


def test_a_healed_link_drops_no_reply(links, clients):
    links.drop_reply(0, "create")
    links.heal()
    assert clients[0].create("/here/a") == "/here/a"


def test_a_later_one_takes_the_place_of_an_earlier_one(links, clients):
    links.drop_reply(0, "create", 1)
    links.drop_reply(0, "set-data", 1)
    clients[0].create("/here/a")
    with pytest.raises(ConnectionLoss):
        clients[0].set("/here", b"1")


def test_the_connection_of_one_session_is_reset(links, clients):
    one, other = clients
    seen = {client: [] for client in clients}
    for client in clients:
        client.add_listener(seen[client].append)
    session = one.client_id[0]
    assert links.reset_session(0, session)
    assert one.retry(one.exists, "/here")
    assert one.client_id[0] == session
    assert "SUSPENDED" in seen[one]
    assert not seen[other]
    assert not links.reset_session(0, 0x1234)
