"""LockingQueue.consume returns True for an element that another client has consumed.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
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


class EndsBeforeItCommits(KazooClient):
    """Loses its session when it is about to commit, and another consumer takes its place."""

    meanwhile = None

    def transaction(self):
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            end_session(self)
            meanwhile()
        return super().transaction()


def test_an_element_is_consumed_by_one_client(connect, path):
    slow, other = connect(EndsBeforeItCommits), connect()
    slow_queue, other_queue = LockingQueue(slow, path), LockingQueue(other, path)
    other_queue.put(b"element")

    def take_over():
        assert other_queue.get(timeout=10) == b"element"
        assert other_queue.consume()

    assert slow_queue.get(timeout=10) == b"element"
    slow.meanwhile = take_over
    try:
        consumed = slow_queue.consume()
    except KazooException:
        consumed = False
    assert not consumed, "consume() returned True to both clients"
