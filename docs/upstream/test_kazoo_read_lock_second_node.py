"""ReadLock.release leaves a node behind that a retry of acquire has not found.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, LockTimeout
from kazoo.recipe.lock import ReadLock, WriteLock

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
    yield top + "/lock"
    client.delete(top, recursive=True)


class CreatesLate(KazooClient):
    """The connection breaks after its first create was sent, which the servers execute later.

    A create that is under way is not seen by reads, but a sync waits for it.
    """

    under_way = None
    sent = False

    def create(self, *args, **kwargs):
        if not self.sent:
            self.sent = True
            self.under_way = (args, kwargs)
            raise ConnectionLoss
        return super().create(*args, **kwargs)

    def get_children(self, *args, **kwargs):
        children = super().get_children(*args, **kwargs)
        self.execute()
        return children

    def sync(self, *args, **kwargs):
        self.execute()
        return super().sync(*args, **kwargs)

    def execute(self):
        if self.under_way is not None:
            (args, kwargs), self.under_way = self.under_way, None
            super().create(*args, **kwargs)


def test_a_writer_gets_the_lock_when_the_reader_has_released_it(connect, path):
    reader, writer = connect(CreatesLate), connect()
    lock = ReadLock(reader, path)
    assert lock.acquire()
    lock.release()

    try:
        acquired = WriteLock(writer, path).acquire(timeout=PATIENCE)
    except LockTimeout:
        acquired = False
    assert acquired, "the reader has released the lock, and the writer does not get it"
