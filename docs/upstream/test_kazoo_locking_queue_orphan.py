"""LockingQueue: an element stays locked, and no client has it, after one lost reply.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.recipe.queue import LockingQueue

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
    yield top + "/queue"
    client.delete(top, recursive=True)


class LosesOneReply(KazooClient):
    """The first lock node is created, and the connection breaks before the reply arrives."""

    lost = False

    def create(self, path, *args, **kwargs):
        created = super().create(path, *args, **kwargs)
        if "/taken/" in path and not self.lost:
            self.lost = True
            raise ConnectionLoss
        return created


def test_an_element_is_given_to_somebody(connect, path):
    producer, consumer = connect(), connect(LosesOneReply)
    LockingQueue(producer, path).put(b"element")
    queue = LockingQueue(consumer, path)
    try:
        got = queue.get(timeout=PATIENCE)
    except ConnectionLoss:
        got = queue.get(timeout=PATIENCE)
    assert got == b"element", "get() waits, although the queue has an element that nobody works on"
