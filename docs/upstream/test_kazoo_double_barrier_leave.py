"""DoubleBarrier.leave returns when a member has died, although another has not left.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.recipe.barrier import DoubleBarrier

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
PATIENCE = 2  # seconds after which a call that does not return counts as stuck


@pytest.fixture
def connect():
    clients = []

    def make(kind=KazooClient):
        client = kind(HOSTS)
        client.start()
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.stop()
        client.close()


@pytest.fixture
def path(connect):
    client = connect()
    top = "/kazoo-test-" + uuid.uuid4().hex
    client.create(top)
    yield top + "/barrier"
    client.delete(top, recursive=True)


def test_nobody_leaves_before_the_others(connect, path):
    clients = [connect() for _ in range(3)]
    pairs = [(DoubleBarrier(client, path, num_clients=3), client) for client in clients]
    pairs.sort(key=lambda pair: pair[0].node_name)
    (_, dies), (leaving, lives), _ = pairs
    entering = [threading.Thread(target=barrier.enter, daemon=True) for barrier, _ in pairs]
    for thread in entering:
        thread.start()
    for thread in entering:
        thread.join(10)
    assert all(barrier.participating for barrier, _ in pairs)

    gone, returned = threading.Event(), threading.Event()
    lives.exists(leaving.create_path, watch=lambda _: gone.set())

    def leave():
        leaving.leave()
        returned.set()

    threading.Thread(target=leave, daemon=True).start()
    assert gone.wait(10)
    dies.stop()
    assert not returned.wait(PATIENCE), "leave() returned, and one of the members has not left"
