"""DoubleBarrier.enter never returns if the reply to its create comes late.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
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


class GetsLateReply(KazooClient):
    """The reply to the create of its node is held back until it may arrive."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.created, self.may_arrive = threading.Event(), threading.Event()

    def create(self, *args, **kwargs):
        created = super().create(*args, **kwargs)
        if kwargs.get("ephemeral"):
            self.created.set()
            assert self.may_arrive.wait(10)
        return created


def test_a_member_enters_with_the_others(connect, path):
    slow_client, other_client = connect(GetsLateReply), connect()
    slow = DoubleBarrier(slow_client, path, num_clients=2)
    other = DoubleBarrier(other_client, path, num_clients=2)
    while other.node_name < slow.node_name:
        other = DoubleBarrier(other_client, path, num_clients=2)
    entered, gone = threading.Event(), threading.Event()

    def enter():
        slow.enter()
        entered.set()

    threading.Thread(target=enter, daemon=True).start()
    assert slow_client.created.wait(10)
    other.enter()
    other_client.exists(other.create_path, watch=lambda _: gone.set())
    threading.Thread(target=other.leave, daemon=True).start()
    assert gone.wait(10)

    slow_client.may_arrive.set()
    assert entered.wait(PATIENCE), "the other member has entered, and enter() does not return"
