"""DoubleBarrier.leave never returns after its connection dropped once.

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
    """Tells when it watches another member's node, so that it waits for that to go."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.watches = threading.Event()

    def exists(self, path, watch=None):
        stat = super().exists(path, watch)
        if watch is not None and not path.endswith("/ready"):
            self.watches.set()
        return stat


def test_a_member_whose_connection_dropped_leaves_with_the_others(connect, path):
    clients = [connect(Member), connect(Member)]
    members = sorted(
        (DoubleBarrier(client, path, num_clients=2) for client in clients),
        key=lambda member: member.node_name,
    )
    entering = [threading.Thread(target=member.enter, daemon=True) for member in members]
    for thread in entering:
        thread.start()
    for thread in entering:
        thread.join(10)

    first, second = members  # the first one waits until the others have left
    left = threading.Event()

    def leave():
        first.leave()
        left.set()

    threading.Thread(target=leave, daemon=True).start()
    assert first.client.watches.wait(10)
    drop_connection(first.client)

    second.client.delete(second.create_path)  # as its leave() does it
    assert left.wait(PATIENCE), "the other member is gone, and leave() of the first does not return"
