"""NonBlockingLease: two clients hold it, because its end is truncated to whole seconds.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import datetime as dt
import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.recipe.lease import NonBlockingLease

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
    yield top + "/lease"
    client.delete(top, recursive=True)


def test_a_lease_lasts_as_long_as_it_was_asked_for(connect, path):
    began = dt.datetime(2020, 1, 1, 12, 0, 0)
    lasts = dt.timedelta(seconds=1.9)
    later = began + dt.timedelta(seconds=1.5)

    first = NonBlockingLease(connect(), path, lasts, identifier="first", utcnow=lambda: began)
    assert first
    second = NonBlockingLease(connect(), path, lasts, identifier="second", utcnow=lambda: later)
    assert not second, "the second client has the lease 0.4 s before that of the first ends"
