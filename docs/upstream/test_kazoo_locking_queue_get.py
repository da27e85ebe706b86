"""LockingQueue.get never returns after its connection dropped once.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.states import KazooState
from kazoo.recipe.queue import LockingQueue

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
    yield top + "/queue"
    client.delete(top, recursive=True)


def drop_connection(client):
    """Break the connection as kazoo's own tests do; return when there is a new one."""
    broken, back = threading.Event(), threading.Event()

    def listen(state):
        if state == KazooState.SUSPENDED:
            broken.set()
        elif state == KazooState.CONNECTED and broken.is_set():
            back.set()

    client.add_listener(listen)
    client._call(_CONNECTION_DROP, None)
    assert broken.wait(10), "the connection did not break"
    assert back.wait(10), "the client did not connect again"


class Consumer(KazooClient):
    """Tells when it has looked at both lists of children, and has left its watches."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.watches = threading.Event()

    def get_children(self, path, *args, **kwargs):
        children = super().get_children(path, *args, **kwargs)
        if path.endswith("/taken"):
            self.watches.set()
        return children


def test_a_waiter_whose_connection_dropped_gets_the_next_element(connect, path):
    producer, consumer = connect(), connect(Consumer)
    got = []
    returned = threading.Event()

    def get():
        got.append(LockingQueue(consumer, path).get())
        returned.set()

    threading.Thread(target=get, daemon=True).start()
    assert consumer.watches.wait(10)
    drop_connection(consumer)

    LockingQueue(producer, path).put(b"element")
    assert returned.wait(PATIENCE), "there is an element, and get() does not return"
    assert got == [b"element"]
