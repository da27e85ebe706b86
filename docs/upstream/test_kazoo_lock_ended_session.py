"""Lock.acquire returns True for a node that went with a session which ended during the call.

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
    """Its session ends when it has been told who contends for the lock."""

    ended = False

    def get_children(self, *args, **kwargs):
        children = super().get_children(*args, **kwargs)
        if children and not self.ended:
            self.ended = True
            end_session(self)
        return children


def test_two_clients_do_not_hold_the_lock(connect, path):
    client, other = connect(EndsWhenItHasLooked), connect()
    first = Lock(client, path).acquire(timeout=10)
    try:
        second = Lock(other, path).acquire(timeout=1)
    except LockTimeout:
        second = False
    assert not (first and second), "two clients have been given the lock"
