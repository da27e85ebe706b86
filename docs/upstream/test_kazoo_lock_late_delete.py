"""Lock.acquire takes a node for its own that its last attempt is about to delete.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid
from contextlib import suppress

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, LockTimeout, NoNodeError
from kazoo.recipe.lock import Lock

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
    yield top + "/lock"
    client.delete(top, recursive=True)


class DeletesLate(KazooClient):
    """The connection breaks after its first delete was sent, which the servers execute later."""

    under_way = None
    sent = False

    def delete(self, *args, **kwargs):
        if not self.sent:
            self.sent = True
            self.under_way = (args, kwargs)
            raise ConnectionLoss
        return super().delete(*args, **kwargs)

    def sync(self, *args, **kwargs):  # waits for what is under way
        self.execute()
        return super().sync(*args, **kwargs)

    def execute(self):
        if self.under_way is not None:
            (args, kwargs), self.under_way = self.under_way, None
            with suppress(NoNodeError):
                super().delete(*args, **kwargs)


def acquire(lock, timeout):
    try:
        return lock.acquire(timeout=timeout)
    except LockTimeout:
        return False


def test_two_clients_do_not_hold_the_lock(connect, path):
    client, other = connect(DeletesLate), connect()
    lock, others = Lock(client, path), Lock(other, path)
    assert others.acquire()
    assert not acquire(lock, timeout=0.5)
    others.release()

    first = acquire(lock, timeout=10)
    client.execute()
    second = acquire(others, timeout=1)
    assert not (first and second), "two clients have been given the lock"
