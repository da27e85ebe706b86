"""Queue returns less urgent elements first.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.recipe.queue import Queue

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")


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
    yield top + "/queue"
    client.delete(top, recursive=True)


def test_the_most_urgent_element_comes_first(connect, path):
    queue = Queue(connect(), path)
    queue.put(b"first", priority=100)
    queue.put(b"second", priority=100)
    assert queue.get() == b"first"

    queue.put(b"urgent", priority=1)
    got = queue.get()
    assert got == b"urgent", f"get() returned {got}, which is less urgent"
