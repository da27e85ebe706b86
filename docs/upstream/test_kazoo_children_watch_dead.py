"""ChildrenWatch is not called any more if the connection is lost just after a reply.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import time
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.states import KazooState
from kazoo.recipe.watchers import ChildrenWatch

HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
PATIENCE = 3  # seconds after which a watch that was not called counts as dead


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
    yield top
    client.delete(top, recursive=True)


class BreaksAfterTheReply(KazooClient):
    """The connection is lost when its first get_children has been answered.

    The thread that asked is told of the answer, and does not run before the loss is noticed.
    """

    broken = False

    def get_children(self, *args, **kwargs):
        children = super().get_children(*args, **kwargs)
        if not self.broken:
            self.broken = True
            self.lose_connection()
        return children

    def lose_connection(self):
        suspended, self.back = threading.Event(), threading.Event()

        def listen(state):
            (suspended if state == KazooState.SUSPENDED else self.back).set()

        self.add_listener(listen)
        self._call(_CONNECTION_DROP, None)
        assert suspended.wait(10), "the connection did not break"
        time.sleep(0.02)  # the other listeners are called, too


def test_a_child_is_seen_that_is_created_after_a_lost_connection(connect, path):
    client, other = connect(BreaksAfterTheReply), connect()
    told = []
    seen = threading.Event()

    def tell(children):
        told.append(children)
        if children:
            seen.set()

    ChildrenWatch(client, path, tell)
    assert client.back.wait(10), "the client did not connect again"
    other.create(path + "/child")
    assert seen.wait(PATIENCE), f"there is a child, and the watch was told {told} only"
