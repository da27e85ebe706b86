"""LockingQueue.get begins its timeout when the servers have answered.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import time
import uuid

import pytest
from kazoo.client import KazooClient

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")


@pytest.fixture
def client():
    client = KazooClient(HOSTS)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def path(client):
    path = client.create("/kazoo-test-" + uuid.uuid4().hex)
    yield path
    client.delete(path, recursive=True)


def test_get_takes_no_longer_than_its_timeout(client, path, monkeypatch):
    queue = client.LockingQueue(path)
    assert queue.get(0) is None
    get_children = client.get_children

    def slowly(*args, **options):
        time.sleep(1)  # the answer of a busy server
        return get_children(*args, **options)

    monkeypatch.setattr(client, "get_children", slowly)
    began = time.monotonic()
    assert queue.get(timeout=3) is None
    seconds = round(time.monotonic() - began)
    assert seconds == 3, f"get(timeout=3) has waited for {seconds} s"
