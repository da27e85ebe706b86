"""Counter adds twice when the reply to its set is lost.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException
from kazoo.recipe.counter import Counter

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
    yield top + "/counter"
    client.delete(top, recursive=True)


class LosesOneReply(KazooClient):
    """The first set takes effect, and then the connection breaks before its reply arrives."""

    lost = False

    def set(self, *args, **kwargs):
        stat = super().set(*args, **kwargs)
        if not self.lost:
            self.lost = True
            raise ConnectionLoss
        return stat


def test_an_addition_takes_effect_once_at_most(connect, path):
    counter = Counter(connect(LosesOneReply), path)
    try:
        counter += 1
    except KazooException:
        pass  # to say that nobody knows is right, too

    reader = connect()
    reader.sync(path)
    value = Counter(reader, path).value
    assert value <= 1, f"1 was added once, and the counter stands at {value}"
