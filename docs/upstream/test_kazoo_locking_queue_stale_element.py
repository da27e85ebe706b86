"""LockingQueue.get returns an element again that another client has consumed.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _SESSION_EXPIRED
from kazoo.protocol.states import KazooState
from kazoo.recipe.queue import LockingQueue

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
    yield top + "/queue"
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


def test_a_consumed_element_is_not_returned(connect, path):
    slow, other = connect(), connect()
    slow_queue, other_queue = LockingQueue(slow, path), LockingQueue(other, path)
    other_queue.put_all([b"first", b"second"])

    assert slow_queue.get(timeout=10) == b"first"
    end_session(slow)
    assert other_queue.get(timeout=10) == b"first"
    assert other_queue.consume()

    got = slow_queue.get(timeout=10)
    assert got == b"second", f"get() returned {got}, which another client has consumed"
