"""Lock.cancel while nobody waits makes the next acquire raise CancelledError.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import CancelledError

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


def test_a_lock_that_was_cancelled_while_it_was_held_can_be_acquired_again(client, path):
    lock = client.Lock(path)
    assert lock.acquire()
    lock.cancel()
    lock.release()

    try:
        acquired = lock.acquire(timeout=5)
    except CancelledError as error:
        acquired = repr(error)
    assert acquired is True, f"nobody has the lock, and acquire gave {acquired}"
