"""Semaphore: two clients hold a semaphore with one lease.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.protocol.connection import _SESSION_EXPIRED
from kazoo.protocol.states import KazooState
from kazoo.recipe.lock import Semaphore

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
    yield top + "/semaphore"
    client.delete(top, recursive=True)


def end_session(client):
    """Give the client a new session, as kazoo's own tests do, and end the old one on the server."""
    old = client.client_id
    lost, back = threading.Event(), threading.Event()

    def listen(state):
        if state == KazooState.LOST:
            lost.set()
        elif state == KazooState.CONNECTED and lost.is_set():
            back.set()

    client.add_listener(listen)
    client._call(_SESSION_EXPIRED, None)
    assert lost.wait(10), "the session did not end"
    assert back.wait(10), "the client did not get a new session"
    other = KazooClient(HOSTS, client_id=old)
    other.start()
    other.stop()
    other.close()


class EndsWhenItHasCounted(KazooClient):
    """Loses its session when it has counted the leases, and another client goes first."""

    meanwhile = None

    def get_children(self, path, *args, **kwargs):
        children = super().get_children(path, *args, **kwargs)
        if path.endswith("/semaphore") and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            end_session(self)
            meanwhile()
        return children


def test_one_lease_is_held_by_one_client(connect, path):
    slow, other = connect(EndsWhenItHasCounted), connect()
    slow_semaphore = Semaphore(slow, path, "slow", max_leases=1)
    other_semaphore = Semaphore(other, path, "other", max_leases=1)

    def take_lease():
        assert other_semaphore.acquire(timeout=10)

    slow.meanwhile = take_lease
    try:
        acquired = slow_semaphore.acquire(timeout=2)
    except LockTimeout:
        acquired = False
    holders = other_semaphore.lease_holders()
    assert not acquired, f"the only lease is held by {sorted(holders)}"
