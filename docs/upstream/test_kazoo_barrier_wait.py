"""Barrier.wait never returns after its connection dropped once.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.states import KazooState
from kazoo.recipe.barrier import Barrier

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
    yield top + "/barrier"
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


class Waiter(KazooClient):
    """Tells when it has looked whether the barrier is there, and has left its watch."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.watches = threading.Event()

    def exists(self, *args, **kwargs):
        found = super().exists(*args, **kwargs)
        self.watches.set()
        return found


def test_a_waiter_whose_connection_dropped_is_let_through(connect, path):
    owner, waiter = connect(), connect(Waiter)
    Barrier(owner, path).create()
    ended = threading.Event()

    def wait():
        try:
            Barrier(waiter, path).wait()
        except ConnectionLoss:
            pass  # its documentation says so
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert waiter.watches.wait(10)
    drop_connection(waiter)

    Barrier(owner, path).remove()
    waiter.sync(path)
    assert waiter.exists(path) is None
    assert ended.wait(PATIENCE), "the barrier is removed, and wait() does not return"
