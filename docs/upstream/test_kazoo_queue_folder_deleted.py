"""Queues whose empty nodes were deleted raise NoNodeError for as long as the object is used.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

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


def test_a_queue_whose_empty_nodes_were_deleted_goes_on(client, path):
    queue = client.LockingQueue(path)
    assert queue.get(0) is None
    client.delete(path + "/entries")  # both are empty
    client.delete(path + "/taken")

    errors = []
    for call in (lambda: queue.put(b"it"), lambda: queue.get(5)):
        try:
            call()
        except NoNodeError as error:
            errors.append(type(error).__name__)
    assert not errors, f"put and get raised {errors}"
