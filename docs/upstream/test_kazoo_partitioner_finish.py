"""SetPartitioner: a member that has finished keeps the lock of a part.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import functools
import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock
from kazoo.recipe.partitioner import PartitionState, SetPartitioner

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
    yield top + "/parts"
    client.delete(top, recursive=True)


class SlowLock(Lock):
    """A lock whose acquire returns late: its thread goes on when the partitioner has finished."""

    acquired = threading.Event()
    finished = threading.Event()

    def acquire(self, *args, **kwargs):
        gotten = super().acquire(*args, **kwargs)
        self.acquired.set()
        assert self.finished.wait(10)
        return gotten


def partitioner(client, path, name):
    return SetPartitioner(
        client, path, ("part",), identifier=name, time_boundary=0.2, max_reaction_time=0.2
    )


def test_a_part_is_free_when_its_member_has_finished(connect, path):
    leaving, other = connect(), connect()
    leaving.Lock = functools.partial(SlowLock, leaving)
    first = partitioner(leaving, path, "first")
    assert SlowLock.acquired.wait(10)
    first.finish()
    SlowLock.finished.set()

    second = partitioner(other, path, "second")
    second.wait_for_acquire(PATIENCE)
    state = second.state
    second.finish()
    assert state == PartitionState.ACQUIRED, "the only member does not get the part"
