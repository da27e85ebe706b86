"""NonBlockingLease takes the lease of another client away before its end.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid
from datetime import datetime, timedelta

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _SESSION_EXPIRED
from kazoo.protocol.states import KazooState
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


class EndsWhenItHasLooked(KazooClient):
    """Loses its session when it has read the lease, and another client goes first."""

    meanwhile = None

    def get(self, *args, **kwargs):
        answer = super().get(*args, **kwargs)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            end_session(self)
            meanwhile()
        return answer


def test_one_client_has_the_lease(connect, path):
    slow, other = connect(EndsWhenItHasLooked), connect()
    duration = timedelta(minutes=10)
    long_ago = datetime(2000, 1, 1)
    assert NonBlockingLease(other, path, duration, "earlier", utcnow=lambda: long_ago)
    leases = []
    slow.meanwhile = lambda: leases.append(NonBlockingLease(other, path, duration, "other"))

    leases.append(NonBlockingLease(slow, path, duration, "slow"))
    obtained = [bool(lease) for lease in leases]
    assert obtained.count(True) == 1, "two clients have the lease for ten minutes"
