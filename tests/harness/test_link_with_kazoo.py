"""The links between a real client and servers, real or simulated."""

import time
import uuid

import pytest
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss

from rumpus.harness.links.link_process import ProcessLinks

SESSION = 2.0  # seconds; the servers allow 1 to 10


@pytest.fixture
def links(servers):
    with ProcessLinks(servers, clients=1) as running:
        yield running


def started(hosts):
    client = KazooClient(hosts, timeout=SESSION)
    client.start(timeout=30)
    return client


def finished(client):
    client.stop()
    client.close()


@pytest.fixture
def client(links):
    linked = started(links.hosts(0))
    yield linked
    links.heal()
    finished(linked)


@pytest.fixture
def bystander(servers):
    host, port = next(iter(servers.values()))
    direct = started(f"{host}:{port}")
    yield direct
    finished(direct)


@pytest.fixture
def path():
    return f"/links-{uuid.uuid4().hex[:8]}"


def test_a_client_works_through_its_links(links, client, path, servers):
    assert links.connected_to(0) in servers
    began = time.monotonic_ns()
    client.create(path, b"x" * 1_000_000)
    data, _ = client.get(path)
    assert data == b"x" * 1_000_000
    assert began < links.last_answer(0) < time.monotonic_ns()
    assert client.command(b"srvr").startswith("Zookeeper version")
    client.delete(path)
    assert links.swallowed(0) == 0


def test_watch_events_are_seen(links, client, bystander, path, eventually):
    client.exists(path, watch=lambda _: None)
    bystander.create(path)
    seen = eventually(links.watch_events)
    assert [(s.client, s.event, s.path) for s in seen] == [(0, "created", path)]
    client.get_children(path, watch=lambda _: None)
    bystander.create(f"{path}/child")
    assert [(s.event, s.path) for s in eventually(links.watch_events)] == [("child", path)]
    bystander.delete(path, recursive=True)


def test_a_black_hole_for_longer_than_the_session_expires_it(
    links, client, bystander, path, eventually
):
    states = []
    client.add_listener(states.append)
    session, _ = client.client_id
    client.create(path, ephemeral=True)
    links.cut(0, "black-hole")
    eventually(lambda: links.swallowed(0) > 0)
    eventually(lambda: bystander.exists(path) is None)
    assert KazooState.LOST not in states  # it cannot know yet
    links.heal(0)
    eventually(lambda: KazooState.LOST in states and client.connected)
    assert client.client_id[0] != session
    assert links.connected_to(0) is not None


def test_a_client_cut_from_its_server_moves_to_another_with_its_session(
    links, client, eventually, path
):
    session, _ = client.client_id
    was = links.connected_to(0)
    client.create(path, ephemeral=True)
    links.cut(0, "reset", [was])
    eventually(lambda: client.connected and links.connected_to(0) not in {was, None})
    assert client.client_id[0] == session
    assert client.exists(path) is not None
    assert links.swallowed(0) > 0


def test_a_lost_reply_leaves_the_znode_and_a_client_that_does_not_know(
    links, client, eventually, path
):
    links.cut(0, "lost-reply")
    assert client.exists(path) is None
    with pytest.raises(ConnectionLoss):
        client.create(path, ephemeral=True)
    assert links.swallowed(0) > 0
    assert links.in_force(0) == {}
    eventually(lambda: client.connected and links.connected_to(0))
    assert client.exists(path).ephemeralOwner == client.client_id[0]
    client.delete(path)
