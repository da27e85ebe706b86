"""Queue loses an element when the reply to its delete is lost.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException
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


class LosesOneReply(KazooClient):
    """The first delete takes effect, and then the connection breaks before its reply arrives."""

    lost = False

    def delete(self, *args, **kwargs):
        done = super().delete(*args, **kwargs)
        if not self.lost:
            self.lost = True
            raise ConnectionLoss
        return done


def test_an_element_is_not_skipped(connect, path):
    queue = Queue(connect(LosesOneReply), path)
    queue.put(b"first")
    queue.put(b"second")
    try:
        got = queue.get()
    except KazooException:
        return  # to say that nobody knows is right, too
    assert got == b"first", f"get() returned {got}, and nobody is told of the first element"
