"""DoubleBarrier.enter never returns after its connection dropped once.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.states import KazooState
from kazoo.recipe.barrier import DoubleBarrier

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


class Member(KazooClient):
    """Tells when it has counted the members that are there, so that it waits for more."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.counted = threading.Event()

    def get_children(self, *args, **kwargs):
        children = super().get_children(*args, **kwargs)
        self.counted.set()
        return children


def test_a_member_whose_connection_dropped_enters_with_the_others(connect, path):
    first, second = connect(Member), connect()
    entered = threading.Event()

    def enter():
        DoubleBarrier(first, path, num_clients=2).enter()
        entered.set()

    threading.Thread(target=enter, daemon=True).start()
    assert first.counted.wait(10)
    drop_connection(first)

    DoubleBarrier(second, path, num_clients=2).enter()
    assert entered.wait(PATIENCE), (
        "both members are there, and enter() of the first does not return"
    )
