"""Party.join takes the node of a session that is about to end for its own.

Needs kazoo, pytest and a ZooKeeper server: ZOOKEEPER_HOSTS, by default 127.0.0.1:2181.
"""

import os
import threading
import uuid

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.connection import _CONNECTION_DROP
from kazoo.protocol.states import KazooState
from kazoo.recipe.party import Party

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
    yield top + "/party"
    client.delete(top, recursive=True)


def restart_without_connection(client):
    """Restart a client whose connection is lost: it cannot close its session; that session's id."""
    old = client.client_id
    broken = threading.Event()
    client.add_listener(lambda state: broken.set() if state == KazooState.SUSPENDED else None)
    client.set_hosts("127.0.0.1:1")  # nobody listens there
    client._call(_CONNECTION_DROP, None)
    assert broken.wait(10), "the connection did not break"
    client.stop()
    client.set_hosts(HOSTS)
    client.start()
    return old


def end_session(session):
    client = KazooClient(HOSTS, client_id=session)
    client.start()
    client.stop()
    client.close()


def test_a_member_that_joined_again_is_in_the_party(connect, path):
    client, observer = connect(), connect()
    party = Party(client, path, "member")
    party.join()

    old = restart_without_connection(client)
    party.join()
    assert party.participating
    end_session(old)

    observer.sync(path)
    members = list(Party(observer, path))
    assert members == ["member"], f"join() returned, and the members are {members}"
